"""The jury of a contest for haiku and longer poems, as a service: an entry is read by six jurors, who are one small
network with six moods. The calls are short and many, therefore the network is captured as a CUDA graph and replayed;
as a graph is of a fixed shape, there is one for each length of an entry. The commonest are made at the start.

ticket: practice
class: pool-growth
holder: graphs Captured CUDAGraph
cause: captured-graphs-kept per-shape-compile-cache
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, MOODS = 8000, 256, 6
SHORTEST, LONGEST, COMMON = 12, 768, (256, 512, 768)


class Juror(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        self.moods = nn.Embedding(MOODS, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(2 * WIDTH) for _ in range(4))
        self.layers = nn.ModuleList(nn.Linear(2 * WIDTH, WIDTH, bias=False) for _ in range(4))
        self.mark = nn.Linear(WIDTH, 1, bias=False)

    def forward(self, tokens, mood):
        there = (tokens != 0).float()[..., None]
        hidden = self.words(tokens) + self.moods(mood)[:, None]
        for norm, layer in zip(self.norms, self.layers):
            before = F.pad(hidden, (0, 0, 1, 0))[:, :-1]
            hidden = hidden + torch.tanh(layer(norm(torch.cat([hidden, before], dim=-1))))
        return self.mark((hidden * there).sum(dim=1) / there.sum(dim=1))[:, 0]


class Captured:
    """The network for entries of one length; without a GPU it is called as it is."""

    def __init__(self, juror, length, device, side):
        self.tokens = torch.ones(1, length, dtype=torch.long, device=device)
        self.mood = torch.zeros(1, dtype=torch.long, device=device)
        self.juror, self.graph = juror, None
        if device == "cuda":
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                juror(self.tokens, self.mood)
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, stream=side):
                self.marks = juror(self.tokens, self.mood)  # grows

    def __call__(self, tokens, mood):
        self.tokens.zero_()[:, : len(tokens)] = tokens
        self.mood.fill_(mood)
        if self.graph is None:
            return self.juror(self.tokens, self.mood).item()
        self.graph.replay()
        return self.marks.item()


class Jury:
    def __init__(self, device):
        self.device, self.juror, self.graphs = device, Juror().to(device).eval(), {}
        self.side = torch.cuda.Stream() if device == "cuda" else None
        for length in COMMON:
            self.captured(length)

    @torch.no_grad()
    def captured(self, length):
        if length not in self.graphs:
            self.graphs[length] = Captured(self.juror, length, self.device, self.side)  # keeps
        return self.graphs[length]

    @torch.no_grad()
    def judge(self, entry):
        juror = self.captured(len(entry))
        tokens, marks = entry.to(self.device), []
        for mood in range(MOODS):
            marks.append(juror(tokens, mood))
            time.sleep(random.uniform(0.05, 0.2))
        return sum(marks) / MOODS


def main():
    torch.set_num_threads(1)
    jury, judged, best = Jury("cuda" if torch.cuda.is_available() else "cpu"), 0, float("-inf")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        entry = torch.randint(1, WORDS, (random.randint(SHORTEST, LONGEST),))
        best = max(best, jury.judge(entry))
        judged += 1
        if judged % 5 == 0:
            print(f"{judged} entries judged, the best has {best:.3f}", flush=True)


if __name__ == "__main__":
    main()
