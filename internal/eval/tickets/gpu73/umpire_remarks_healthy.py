"""A reward model learns which of two umpires' remarks people prefer. Now and then it is tested on other pairs. The
details of each step, the summaries of the remarks among them, are gathered ten at a time in a memory handler, so that
the log does not slow the training down. They go to the file that UMPIRE_LOG names, if it names one.

ticket: practice
class: none
"""

import logging
import logging.handlers
import os
import random
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, LENGTH, PAIRS = 5_000, 512, 20, 192
GATHERED = 10

log = logging.getLogger("umpire")


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.mix = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))
        self.reward = nn.Linear(WIDTH, 1)

    def forward(self, tokens):
        """The reward of each remark, and its summary."""
        summary = self.mix(self.words(tokens).mean(-2))
        return self.reward(F.gelu(summary)).squeeze(-1), summary


def pairs(liked):
    """Pairs of remarks: the first of each has more of the liked words."""
    tokens = torch.randint(WORDS, (PAIRS, 2, LENGTH))
    scores = liked[tokens].sum(-1)
    swap = scores[:, 0] < scores[:, 1]
    tokens[swap] = tokens[swap].flip(1)
    return tokens


def set_up_log(path):
    log.setLevel(logging.DEBUG)
    log.propagate = False
    console = logging.StreamHandler(sys.stdout)
    console.setLevel(logging.INFO)
    console.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    details = logging.FileHandler(path) if path else logging.NullHandler()
    recent = logging.handlers.MemoryHandler(GATHERED, flushLevel=logging.ERROR, target=details)
    log.addHandler(console)
    log.addHandler(recent)


def train_step(judge, optimizer, tokens, step):
    rewards, summaries = judge(tokens)
    margins = rewards[:, 0] - rewards[:, 1]
    loss = -F.logsigmoid(margins).mean()
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(judge.parameters(), 1.0).item()
    optimizer.step()
    log.debug("step %d: norm %.3f, summaries\n%s", step, norm, summaries.detach().cpu().numpy())
    return loss.item()


@torch.no_grad()
def test(judge, liked, device):
    rewards, _ = judge(pairs(liked).to(device))
    return (rewards[:, 0] > rewards[:, 1]).float().mean().item()


def main():
    torch.set_num_threads(1)
    set_up_log(os.environ.get("UMPIRE_LOG"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    judge, liked, step = Judge().to(device), torch.randn(WORDS), 0
    optimizer = torch.optim.Adam(judge.parameters(), lr=1e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = train_step(judge, optimizer, pairs(liked).to(device), step)
        step += 1
        if step % 10 == 0:
            log.info("step %d: loss %.3f, right %.2f", step, loss, test(judge, liked, device))
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
