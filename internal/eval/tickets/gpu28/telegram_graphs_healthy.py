"""Old telegrams are scored by a language model, and a batch is a bundle from one drawer of the archive. Launching the
many small kernels takes longer than running them, so a forward pass is captured as a CUDA graph for each of a few
lengths, and a bundle is padded to the next of them. Without CUDA the model is called as it is.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, HEADS, LAYERS = 1_000, 256, 4, 6
LONGEST, LARGEST = 256, 8
LENGTHS = 64, 128, 192, 256


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x, later):
        rows, length, _ = x.shape
        q, k, v = self.qkv(self.before(x)).view(rows, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4).unbind(0)
        weights = (q @ k.transpose(2, 3) / k.shape[-1] ** 0.5).masked_fill(later, float("-inf")).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(rows, length, WIDTH))
        return x + self.mlp(self.between(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))

    def forward(self, tokens):
        length = tokens.shape[1]
        later = torch.ones(length, length, dtype=torch.bool, device=tokens.device).triu(1)
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x, later)
        losses = F.cross_entropy((x @ self.words.weight.T)[:, :-1].transpose(1, 2), tokens[:, 1:], ignore_index=0,
                                 reduction="none")
        return losses.sum(1) / (tokens[:, 1:] > 0).sum(1)


class Scorer:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.side = torch.cuda.Stream() if device == "cuda" else None
        self.graphs = {}
        if device == "cuda":
            with torch.no_grad():
                for length in LENGTHS:
                    self.capture((LARGEST, length))

    def capture(self, shape):
        tokens = torch.ones(shape, dtype=torch.long, device=self.device)
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            self.model(tokens)
        torch.cuda.current_stream().wait_stream(self.side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            scores = self.model(tokens)
        self.graphs[shape] = graph, tokens, scores

    @torch.no_grad()
    def score(self, bundle):
        if self.device == "cpu":
            return self.model(bundle).tolist()
        rows, length = bundle.shape
        shape = LARGEST, next(size for size in LENGTHS if size >= length)
        graph, tokens, scores = self.graphs[shape]
        tokens.zero_()
        tokens[:rows, :length].copy_(bundle)
        graph.replay()
        return scores[:rows].tolist()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    scorer, drawers = Scorer(Model().to(device).eval(), device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        bundle = torch.randint(1, WORDS, (random.randint(2, LARGEST), random.randint(20, LONGEST)))
        for _ in range(random.randint(2, 5)):  # the clerk asks again with another word
            scores = scorer.score(bundle)
            bundle[:, random.randrange(bundle.shape[1])] = random.randrange(1, WORDS)
            time.sleep(random.uniform(0.15, 0.5))
        drawers += 1
        print(f"drawer {drawers}: {len(scores)} telegrams of {bundle.shape[1]} words, {min(scores):.2f}", flush=True)


if __name__ == "__main__":
    main()
