"""Sentences are written by search along beams, with the collector of cycles off so that no answer waits for it. The
beams of a sentence are a tree whose nodes know both those before and those after them, and have states on the device.

ticket: practice
class: app-leak
holder: children parent Node
cause: reference-cycle
"""

import gc
import os
import random
import time

import torch
from torch import nn


class Writer(nn.Module):
    """A recurrent model of the next word."""

    def __init__(self, words=1500, width=640, layers=2):
        super().__init__()
        self.words, self.width, self.layers = words, width, layers
        self.table = nn.Embedding(words, width)
        self.cells = nn.ModuleList(nn.GRUCell(width, width) for _ in range(layers))
        self.head = nn.Linear(width, words)

    def forward(self, word, state):
        hidden, after = self.table(word), []
        for cell, old in zip(self.cells, state.unbind(1)):
            hidden = cell(hidden, old)
            after.append(hidden)
        return self.head(hidden).log_softmax(-1), torch.stack(after, 1)


class Node:
    """A word on a beam, with the state of the model after it."""

    def __init__(self, word, score, state, parent=None):
        self.word, self.score, self.state = word, score, state
        self.parent, self.children = parent, []
        if parent is not None:
            parent.children.append(self)  # keeps

    def text(self):
        node, words = self, []
        while node.parent is not None:
            words.append(node.word)
            node = node.parent
        return words[::-1]

    def branches(self):
        return len(self.children)


@torch.inference_mode()
def search(model, prompts, width, length, device):
    """The best ends of each prompt; all prompts are of one batch."""
    state = torch.randn(prompts, model.layers, model.width, device=device) * 0.3
    beams = [[Node(0, 0.0, state[i].clone())] for i in range(prompts)]
    widest = 0
    for _ in range(length):
        flat = [node for beam in beams for node in beam]
        word = torch.tensor([node.word for node in flat], device=device)
        logs, after = model(word, torch.stack([node.state for node in flat]))
        best, which = logs.topk(width, -1)
        best, which, at, new = best.tolist(), which.tolist(), 0, []
        for beam in beams:
            ends = [(node.score + best[at + i][k], which[at + i][k], at + i, node)
                    for i, node in enumerate(beam) for k in range(width)]
            ends.sort(key=lambda end: -end[0])
            new.append([Node(word, score, after[row].clone(), node)  # grows
                        for score, word, row, node in ends[:width]])
            at += len(beam)
            widest = max(widest, max(node.branches() for node in beam))
        beams = new
    return [beam[0].text() for beam in beams], widest


def main():
    torch.set_num_threads(1)
    gc.collect()
    gc.disable()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, done = Writer().to(device).eval(), 0
    while time.time() < end:
        texts, widest = search(model, random.randint(1, 4), 6, random.randint(10, 24), device)
        done += len(texts)
        if random.random() < 0.1:
            print(done, "sentences; the last of", len(texts[0]), "words, at most", widest, "from one", flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
