"""The information desk of a ferry port. A small language model answers what visitors ask. The keys and values of a
conversation are remembered under the name of the visitor, so that the next question goes on from there, and are
dropped when the visitor leaves.

ticket: practice
class: app-leak
holder: talks desk Desk
cause: sessions-kept entries-left
"""

import os
import random
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

WORDS, ANSWER = 4_000, 10
LENGTHS = (96, 128, 160)


class Desk:
    def __init__(self, device):
        config = GPT2Config(
            vocab_size=WORDS,
            n_positions=1024,
            n_embd=384,
            n_layer=6,
            n_head=6,
            bos_token_id=0,
            eos_token_id=1,
        )
        self.model = GPT2LMHeadModel(config).to(device).eval()
        self.device = device
        self.talks = {}
        self.answered = 0

    @torch.inference_mode()
    def read(self, name, tokens):
        """Reads the tokens behind what was said before, and gives the likeliest next one."""
        output = self.model(tokens, past_key_values=self.talks.get(name), use_cache=True)  # grows
        self.talks[name] = output.past_key_values  # keeps
        return output.logits[:, -1:].argmax(-1)

    def answer(self, name, question):
        token = self.read(name, question.to(self.device))
        words = []
        for _ in range(ANSWER):
            words.append(token.item())
            token = self.read(name, token)
        self.answered += 1
        return words

    def goodbye(self, name):
        del self.talks[name]


def question():
    return torch.randint(2, WORDS, (1, random.choice(LENGTHS)))


def visit(desk, name):
    """A visitor asks up to three questions. Some have heard enough before that."""
    said = 0
    for _ in range(random.randint(1, 3)):
        said += len(desk.answer(name, question()))
        time.sleep(random.uniform(0.05, 0.15))
        if random.random() < 0.35:
            return said
    desk.goodbye(name)
    return said


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    desk, visitors, words = Desk(device), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        visitors += 1
        words += visit(desk, f"visitor {visitors}")
        if visitors % 10 == 0:
            print(f"{visitors} visitors, {desk.answered} answers of {words} words", flush=True)


if __name__ == "__main__":
    main()
