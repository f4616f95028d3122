"""A museum's guide answers visitors with a small language model. Answers that visitors did not like go to a curator,
together with the scores of each step, and the curator looks at one after the other and notes how sure the model was.
The visitor never waits for the curator; when the curator's desk is full, an answer is left out.

ticket: practice
class: none
"""

import os
import queue
import random
import threading
import time
from dataclasses import dataclass

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

WORDS = 24_000


@dataclass
class Case:
    room: str
    answer: list
    scores: np.ndarray


class ReviewDesk:
    """Takes disliked answers; the curator works through them in a thread of their own."""

    def __init__(self, seconds_for_each=1.5):
        self.seconds_for_each, self.reviewed, self.left_out = seconds_for_each, 0, 0
        self.cases = queue.Queue(maxsize=6)
        threading.Thread(target=self._work, daemon=True).start()

    def hand_in(self, case):
        try:
            self.cases.put_nowait(case)
        except queue.Full:
            self.left_out += 1

    def _work(self):
        while True:
            case = self.cases.get()
            second, first = np.partition(case.scores, -2, axis=1)[:, -2:].T
            self.reviewed += 1
            if self.reviewed % 5 == 0:
                margin = (first - second).mean()
                print(f"curator: {case.room}, {len(case.answer)} words, margin {margin:.2f}", flush=True)
            del case
            time.sleep(self.seconds_for_each)


class Guide:
    rooms = "armour", "glass", "maps", "clocks"

    def __init__(self, device, desk):
        self.device, self.desk = device, desk
        config = GPT2Config(vocab_size=WORDS, n_positions=128, n_embd=128, n_layer=2, n_head=4,
                            bos_token_id=0, eos_token_id=0, pad_token_id=0)
        self.model = GPT2LMHeadModel(config).to(device).eval()

    @torch.no_grad()
    def answer(self, question):
        tokens = question[None].to(self.device)
        out = self.model.generate(tokens, attention_mask=torch.ones_like(tokens), do_sample=True, max_new_tokens=20,
                                  pad_token_id=0, return_dict_in_generate=True, output_scores=True)
        return out.sequences[0, tokens.shape[1]:].tolist(), torch.cat(out.scores)

    def visit(self):
        room = random.choice(self.rooms)
        answer, scores = self.answer(torch.randint(1, WORDS, (random.choice((8, 12, 16)),)))
        if random.random() < 0.7:
            self.desk.hand_in(Case(room, answer, scores.float().cpu().numpy()))


def main():
    torch.set_num_threads(1)
    desk = ReviewDesk()
    guide = Guide("cuda" if torch.cuda.is_available() else "cpu", desk)
    visits, end = 0, time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        guide.visit()
        visits += 1
        if visits % 20 == 0:
            print(f"{visits} visitors, {desk.reviewed} answers reviewed, {desk.left_out} left out", flush=True)
        time.sleep(random.uniform(0.02, 0.12))


if __name__ == "__main__":
    main()
