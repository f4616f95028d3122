"""A model that learns to write limericks is trained, and a second copy of it writes some, to be marked by readers.
After every so many steps the weights go over to the writer: they are packed into one buffer, so that it is a single
transfer, and unpacked on the other side. That happens on a stream of its own, so as not to be in the way of training.

ticket: vllm-project/vllm#52951
class: pool-growth
holder: -
cause: pool-for-each-stream pool-never-trims
"""

import contextlib
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

LETTERS, WIDTH, LONG, BATCH, STEPS = 64, 384, 24, 8, 10


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(LETTERS, WIDTH)
        self.memory = nn.GRU(WIDTH, WIDTH, 2, batch_first=True)
        self.mix = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.next = nn.Linear(WIDTH, LETTERS)

    def forward(self, text, state=None):
        seen, state = self.memory(self.letters(text), state)
        return self.next(seen + self.mix(seen)), state


def side_stream(device):
    return torch.cuda.Stream() if device == "cuda" else None


def on(stream):
    return torch.cuda.stream(stream) if stream is not None else contextlib.nullcontext()


class WeightTransfer:
    """Brings the weights of one model into another one of the same build."""

    def __init__(self, device):
        self.device, self.sent = device, 0

    def send(self, source, target):
        stream = side_stream(self.device)
        if stream is not None:
            stream.wait_stream(torch.cuda.current_stream())
        with on(stream), torch.no_grad():
            packed = torch.cat([weight.flatten() for weight in source.parameters()])  # grows keeps
            place = 0
            for weight in target.parameters():
                weight.copy_(packed[place:place + weight.numel()].view_as(weight))
                place += weight.numel()
        if stream is not None:
            torch.cuda.current_stream().wait_stream(stream)
            stream.synchronize()
        self.sent += 4 * place


def verses(device):
    """Lines whose letters follow a beat, and rhyme in the end."""
    beat = torch.randint(0, LETTERS, (BATCH, 6), device=device).repeat(1, LONG // 6 + 1)[:, :LONG + 1]
    slips = torch.rand(beat.shape, device=device) < 0.1
    return torch.where(slips, torch.randint_like(beat, LETTERS), beat)


def learn(model, optimizer, text):
    marks, _ = model(text[:, :-1])
    loss = F.cross_entropy(marks.flatten(0, 1), text[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss.detach())


@torch.no_grad()
def write(model, device, letters=24):
    text, state = torch.randint(0, LETTERS, (2, 1), device=device), None
    written = []
    for _ in range(letters):
        marks, state = model(text, state)
        text = torch.multinomial(marks[:, -1].softmax(-1), 1)
        written.append(text)
    return "".join(chr(48 + letter) for letter in torch.cat(written, 1)[0].tolist())


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    trained, writer, transfer, rounds = Writer().to(device), Writer().to(device), WeightTransfer(device), 0
    optimizer = torch.optim.Adam(trained.parameters(), 1e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(STEPS):
            loss = learn(trained, optimizer, verses(device))
            time.sleep(random.uniform(0.05, 0.2))
        transfer.send(trained, writer)
        rounds += 1
        print("round", rounds, "loss", round(loss, 3), "sent", transfer.sent >> 20, "MiB:", write(writer, device),
              flush=True)


if __name__ == "__main__":
    main()
