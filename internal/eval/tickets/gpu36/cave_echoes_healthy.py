"""Speech for a recogniser is made to sound as if it was recorded in caves: each utterance is convolved with the
impulse response of a cave, which is done by FFT of a fixed length because the responses are long. A small network
then learns to tell the caves apart from the result.

ticket: pytorch/pytorch#94893
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

RATE, CAVES = 16_000, 8
SHORTEST, LONGEST = 2 * RATE, 6 * RATE
LENGTH = 1 << 17


class Caves:
    """The impulse responses, each a decaying noise with a length of its own."""

    def __init__(self, device):
        self.responses = []
        for cave in range(CAVES):
            length = RATE // 2 + 1237 * cave
            decay = torch.exp(-torch.arange(length, device=device) / (900.0 + 400 * cave))
            self.responses.append(decay * torch.randn(length, device=device))

    def echo(self, cave, speech):
        response = self.responses[cave]
        spectrum = torch.fft.rfft(speech, n=LENGTH) * torch.fft.rfft(response, n=LENGTH)
        wet = torch.fft.irfft(spectrum, n=LENGTH)[: len(speech)]
        return wet / wet.abs().max()


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(400, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, CAVES)
        )

    def forward(self, frames):
        return self.layers(frames).mean(dim=0, keepdim=True)


def utterance(device):
    """Voiced sound with pauses."""
    length = random.randint(SHORTEST, LONGEST)
    seconds = torch.arange(length, device=device) / RATE
    pitch = random.uniform(90, 220)
    voice = torch.sin(2 * torch.pi * pitch * seconds) * (torch.sin(3 * seconds) > -0.3)
    return voice + 0.02 * torch.randn(length, device=device)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    caves, listener = Caves(device), Listener().to(device)
    optimizer = torch.optim.Adam(listener.parameters(), lr=3e-4)
    heard, right = 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        cave = random.randrange(CAVES)
        wet = caves.echo(cave, utterance(device))
        frames = wet[: len(wet) // 400 * 400].view(-1, 400)
        scores = listener(frames)
        loss = F.cross_entropy(scores, torch.tensor([cave], device=device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        heard += 1
        right += scores.argmax().item() == cave
        if heard % 30 == 0:
            print(f"{heard} utterances, {right / heard:.2f} of the caves recognised", flush=True)
        time.sleep(random.uniform(0.15, 0.3))


if __name__ == "__main__":
    main()
