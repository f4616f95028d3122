"""A compiled tagger of sequences of any length is trained, and evaluated every now and then. What the report of
an evaluation is made of is cut from its graph before it goes to a meter.

ticket: facebookresearch/mmf#846
class: none
"""

import collections
import logging
import os
import random
import time

import torch
from torch import nn

log = logging.getLogger("tagger")


class Tagger(nn.Module):
    def __init__(self, tags=64, width=128):
        super().__init__()
        self.embed = nn.Embedding(5000, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(4))
        self.mix, self.head = nn.Conv1d(width, width, 5, padding=2), nn.Linear(width, tags)

    def forward(self, tokens):
        hidden = self.embed(tokens)
        for layer in self.layers:
            hidden = hidden + torch.tanh(layer(hidden))
        hidden = hidden + torch.relu(self.mix(hidden.transpose(1, 2)).transpose(1, 2))
        return self.head(hidden)


class Meter:
    """Running means of what is reported."""

    def __init__(self):
        self.sums, self.counts = {}, collections.Counter()

    def update(self, report):
        for name, value in report.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
            self.counts[name] += 1

    def means(self):
        return {name: float(total) / self.counts[name] for name, total in self.sums.items()}


def batch(device):
    length = random.choice([24, 40, 64, 96, 130, 190])
    tokens = torch.randint(0, 5000, (8, length), device=device)
    return tokens, tokens % 64


class Training:
    def __init__(self, device):
        self.device, self.meter, self.steps = device, Meter(), 0
        self.model = Tagger().to(device)
        self.forward = torch.compile(self.model, backend="aot_eager", dynamic=True)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4)

    def losses(self, tokens, tags):
        logits = self.forward(tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tags.flatten())
        doubt = torch.distributions.Categorical(logits=logits).entropy().mean()
        return {"loss": loss, "doubt": doubt}

    def step(self):
        self.optimizer.zero_grad()
        report = self.losses(*batch(self.device))
        (report["loss"] - 0.01 * report["doubt"]).backward()
        self.optimizer.step()
        self.steps += 1

    def evaluate(self):
        self.model.eval()
        for _ in range(random.randint(3, 6)):
            report = self.losses(*batch(self.device))
            self.meter.update({name: value.detach() for name, value in report.items()})
        self.model.train()
        log.info("step %d: %s", self.steps, self.meter.means())


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    training = Training("cuda" if torch.cuda.is_available() else "cpu")
    while time.time() < end:
        for _ in range(10):
            training.step()
            time.sleep(0.08)
        training.evaluate()


if __name__ == "__main__":
    main()
