"""Answers visitors of a herb distillery who ask at a kiosk about mint, hyssop and wormwood.

Several visitors talk at a time. A small language model reads each question and says a few words, and it goes on
from what it has already read of the same talk. A visitor leaves after some questions, and the next one steps up.

ticket: practice
class: app-leak
holder: _talks
cause: sessions-kept
"""
import os
import random
import time
from dataclasses import dataclass, field

import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
WORDS = 600
KIOSKS = 4
QUESTION = 64
ANSWER = 4
ROUNDS_PER_SECOND = 3


@dataclass
class Talk:
    visitor: int
    questions: int
    cache: DynamicCache = field(default_factory=DynamicCache)
    asked: int = 0
    over: bool = False


def make_model(seed):
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=512,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config).to(DEVICE).eval()


class Herbalist:
    """The model behind the kiosks."""

    def __init__(self, seed):
        self.model = make_model(seed)
        self.words = 0

    @torch.no_grad()
    def answer(self, talk, question):
        tokens = question
        said = []
        for _ in range(ANSWER):
            output = self.model(input_ids=tokens, past_key_values=talk.cache, use_cache=True)  # grows
            tokens = output.logits[:, -1:].argmax(-1)
            said.append(int(tokens))
        self.words += len(said)
        return said


class VisitorHall:
    """Who stands at which kiosk, and what has been said there."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.herbalist = Herbalist(seed)
        self._talks = {}
        self.at_kiosk = [None] * KIOSKS
        self.visitors = 0
        self.left = 0
        self.last_word = 0

    def step_up(self, kiosk):
        self.visitors += 1
        talk = Talk(self.visitors, questions=self.rng.randint(1, 4))
        self._talks[talk.visitor] = talk  # keeps
        self.at_kiosk[kiosk] = talk.visitor

    def ask(self, talk):
        words = [self.rng.randrange(3, WORDS) for _ in range(QUESTION)]
        question = torch.tensor([words], device=DEVICE)
        self.last_word = self.herbalist.answer(talk, question)[-1]
        talk.asked += 1

    def leave(self, kiosk):
        talk = self._talks[self.at_kiosk[kiosk]]
        talk.over = True
        self.at_kiosk[kiosk] = None
        self.left += 1

    def round(self):
        for kiosk in range(KIOSKS):
            if self.at_kiosk[kiosk] is None:
                self.step_up(kiosk)
            talk = self._talks[self.at_kiosk[kiosk]]
            self.ask(talk)
            if talk.asked >= talk.questions:
                self.leave(kiosk)


def main():
    torch.set_num_threads(1)
    hall = VisitorHall(seed=37)
    begun = time.monotonic()
    next_line = begun + 2.0
    while time.monotonic() - begun < SECONDS:
        started = time.monotonic()
        hall.round()
        if started >= next_line:
            print(
                f"{hall.left} of {hall.visitors} visitors left, {hall.herbalist.words} words, last {hall.last_word}",
                flush=True,
            )
            next_line += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"hall closed, {hall.left} visitors had their answers", flush=True)


if __name__ == "__main__":
    main()
