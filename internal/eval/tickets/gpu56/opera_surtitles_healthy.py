"""Translates an opera while it is sung: each line goes through a beam search, and the best hypothesis is the surtitle.
The words up to the first fork of the hypotheses are settled; of the others the prompter is told the runner-up. As a
pause of the garbage collector would be seen on stage, the collector is off during the performance.

ticket: practice
class: none
"""

import gc
import os
import random
import time

import torch
from torch import nn

WORDS, WIDTH, BEAM = 8_000, 128, 5


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.reader = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.writer = nn.GRUCell(WIDTH, WIDTH)

    def read(self, sung):
        return self.reader(self.words(sung))[1][0]

    def write(self, words, states):
        states = self.writer(self.words(words), states)
        return torch.log_softmax(states @ self.words.weight.T / WIDTH**0.5, dim=1), states


class Node:
    """A word of a hypothesis, with the log probabilities among which it was chosen."""

    def __init__(self, parent, word, score, row=None):
        self.parent, self.word, self.score, self.row = parent, word, score, row
        self.children = 0
        if parent is not None:
            parent.children += 1

    def path(self):
        node, nodes = self, []
        while node.parent is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]

    def runner_up(self):
        return int(self.row.argsort()[-2])


@torch.inference_mode()
def translate(model, sung, length):
    """The surtitle, how many of its words are settled, and the runners-up of the others."""
    states = model.read(sung).repeat(BEAM, 1)
    beam = [Node(None, 0, 0.0)]
    for _ in range(length):
        words = torch.tensor([node.word for node in beam], device=sung.device)
        log_probs, states = model.write(words, states[: len(beam)])
        rows = log_probs.cpu().numpy()
        scores = log_probs + torch.tensor([[node.score] for node in beam], device=sung.device)
        best, places = scores.flatten().topk(BEAM)
        sources = (places // WORDS).tolist()
        chosen = zip(sources, (places % WORDS).tolist(), best.tolist())
        beam = [Node(beam[source], word, score, rows[source]) for source, word, score in chosen]
        states = states[sources]
    path = max(beam, key=lambda node: node.score / length).path()
    settled = next((place for place, node in enumerate(path) if node.parent.children > 1), len(path))
    return [node.word for node in path], settled, [node.runner_up() for node in path[settled:]]


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, lines = Translator().to(device).eval(), 0
    gc.disable()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        sung = torch.randint(WORDS, (1, random.randint(6, 14)), device=device)
        surtitle, settled, others = translate(model, sung, random.randint(10, 18))
        lines += 1
        if lines % 10 == 0:
            print(f"line {lines}: {len(surtitle)} words, {settled} settled, prompter has {others[:3]}", flush=True)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
