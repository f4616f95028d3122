"""A scorer of texts replays captured graphs, as its kernels are short. A graph holds for one length; it is
captured when a length comes for the first time, and nearly every text has a length of its own.

ticket: pytorch/pytorch#128424
class: app-leak
holder: captured runners logits
cause: per-shape-compile-cache cache-without-bound
"""

import logging
import os
import random
import time

import torch
from torch import nn

log = logging.getLogger("scorer")
WIDTH, VOCABULARY, LONGEST = 768, 4096, 1536


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Runner:
    """The model for texts of one length: a place for the input, one for the output, and what fills it."""

    def __init__(self, model, length, pool, device):
        self.model, self.length, self.graph = model, length, None
        self.tokens = torch.zeros(length, dtype=torch.long, device=device)
        if device == "cuda":
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                model(self.tokens)
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, pool=pool):
                self.logits = model(self.tokens)  # grows
        else:
            self.logits = model(self.tokens)

    def run(self, tokens):
        self.tokens[: len(tokens)].copy_(tokens)
        if self.graph is not None:
            self.graph.replay()
        else:
            self.logits.copy_(self.model(self.tokens))
        return self.logits[: len(tokens)]


class Scorer:
    def __init__(self, device):
        self.device, self.captured = device, {}
        layers = [nn.Embedding(VOCABULARY, WIDTH)] + [Block() for _ in range(4)] + [nn.Linear(WIDTH, VOCABULARY)]
        self.model = nn.Sequential(*layers).to(device).eval()
        self.pool = torch.cuda.graph_pool_handle() if device == "cuda" else None

    def runner(self, length):
        if length not in self.captured:
            self.captured[length] = Runner(self.model, length, self.pool, self.device)  # keeps
        return self.captured[length]

    @torch.inference_mode()
    def score(self, text):
        tokens = torch.tensor(text, device=self.device)
        logits = self.runner(len(text)).run(tokens)
        chosen = logits[:-1].gather(1, tokens[1:, None]) - logits[:-1].logsumexp(1, keepdim=True)
        return -chosen.mean().item()


def texts(end):
    while time.time() < end:
        for _ in range(random.randint(1, 6)):
            yield [random.randrange(VOCABULARY) for _ in range(random.randint(40, LONGEST))]
            time.sleep(random.uniform(0.2, 0.7))
        time.sleep(random.choice([0.1, 0.5, 1.5]))


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    scorer, scores = Scorer("cuda" if torch.cuda.is_available() else "cpu"), []
    for text in texts(end):
        scores.append(scorer.score(text))
        if len(scores) % 10 == 0:
            log.info("%d texts, %d graphs, %.2f", len(scores), len(scorer.captured), sum(scores[-10:]) / 10)


if __name__ == "__main__":
    main()
