"""A recurrent language model tells a saga that never ends. A beam search writes each chapter, and the best ending is
where the next chapter begins. A chapter is as long as its author likes, and is read back from its last word.

ticket: practice
class: none
"""

import os
import random
import time
from dataclasses import dataclass
from typing import Optional

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, LAYERS, BEAMS = 3_000, 512, 3, 8


@dataclass(eq=False)
class Node:
    word: int
    score: float
    state: torch.Tensor
    parent: Optional["Node"] = None


class Skald(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.rnn = nn.GRU(WIDTH, WIDTH, LAYERS)
        self.next = nn.Linear(WIDTH, WORDS)

    def forward(self, words, states):
        output, states = self.rnn(self.words(words)[None], states)
        return F.log_softmax(self.next(output[0]), dim=-1), states


class Search:
    def __init__(self, model, device):
        self.model, self.device = model, device

    def grow(self, nodes):
        words = torch.tensor([node.word for node in nodes], device=self.device)
        log_probs, states = self.model(words, torch.stack([node.state for node in nodes], dim=1))
        log_probs = log_probs - 0.3 * torch.rand_like(log_probs).log().neg().log()  # some spice
        scores = log_probs + torch.tensor([node.score for node in nodes], device=self.device)[:, None]
        best, places = scores.flatten().topk(BEAMS)
        grown = []
        for score, place in zip(best.tolist(), places.tolist()):
            row, word = divmod(place, WORDS)
            grown.append(Node(word, score, states[:, row], nodes[row]))
        return grown

    @torch.no_grad()
    def chapter(self, start, length):
        nodes = [start]
        for _ in range(length):
            nodes = self.grow(nodes)
        return max(nodes, key=lambda node: node.score)


def read(node, start):
    words = []
    while node is not start:
        words.append(node.word)
        node = node.parent
    return words[::-1]


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    search = Search(Skald().to(device).eval(), device)
    start, chapters = Node(0, 0.0, torch.zeros(LAYERS, WIDTH, device=device)), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        last = search.chapter(start, random.randint(15, 60))
        words = read(last, start)
        chapters += 1
        if chapters % 5 == 0:
            gain = (last.score - start.score) / len(words)
            print(f"chapter {chapters}: {len(words)} words, {len(set(words))} different, {gain:.2f} each", flush=True)
        start = Node(last.word, last.score, last.state)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
