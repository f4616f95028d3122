"""A policy is trained on packed micro-batches whose number of tokens climbs, round after round. The
logits of each are put into the same buffer, made once for the largest.

ticket: ROCm/legacy-rocm-build#6333
class: none
"""

import dataclasses
import logging
import os
import random
import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
log = logging.getLogger("grpo")


@dataclasses.dataclass
class Config:
    seconds: float = float(os.environ.get("SECONDS", "40"))
    vocabulary: int = 8192
    width: int = 64
    first: int = 512
    growth: int = 64
    limit: int = 3072
    micro: int = 12


class Policy(torch.nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed = torch.nn.Embedding(c.vocabulary, c.width)
        self.head = torch.nn.Linear(c.width, c.vocabulary, bias=False)

    def hidden(self, tokens):
        return self.embed(tokens).tanh()


class Workspace:
    """Where the logits of a micro-batch are put."""

    def __init__(self, config):
        self.c = config
        self.buffer = torch.empty(config.limit, config.vocabulary, device=device)

    def logits(self, tokens):
        return self.buffer[:tokens]


class Worker:
    def __init__(self, config):
        self.c, self.policy, self.workspace = config, Policy(config).to(device), Workspace(config)
        self.history = []

    def packed(self, tokens):
        return torch.randint(0, self.c.vocabulary, (tokens,), device=device)

    @torch.no_grad()
    def log_probs(self, tokens):
        ids = self.packed(tokens)
        logits = self.workspace.logits(tokens)
        torch.matmul(self.policy.hidden(ids), self.policy.head.weight.T, out=logits)
        chosen = logits.gather(1, ids[:, None]).squeeze(1)
        return (chosen - logits.logsumexp(dim=1)).mean().item() if tokens < 256 else self.reduce(logits, chosen)

    def reduce(self, logits, chosen):
        total = 0.0
        for rows, picked in zip(logits.split(128), chosen.split(128)):
            total += (picked - rows.logsumexp(dim=1)).sum().item()
        return total / len(chosen)

    def round(self, number):
        top = min(self.c.limit, self.c.first + self.c.growth * number)
        for micro in range(self.c.micro):
            tokens = top if micro == 0 else random.randint(64, max(65, top // 8))
            self.history = (self.history + [self.log_probs(tokens)])[-64:]
            time.sleep(0.05)
        return top


def main():
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO)
    config = Config()
    worker, end, number = Worker(config), time.time() + config.seconds, 0
    while time.time() < end:
        top = worker.round(number)
        number += 1
        if number % 5 == 0:
            log.info("round %d, %d tokens, log prob %.3f", number, top, sum(worker.history) / len(worker.history))
        time.sleep(random.choice([0.6, 1.2]))


if __name__ == "__main__":
    main()
