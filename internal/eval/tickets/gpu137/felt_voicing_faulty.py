"""A model learns how a tuner's needles soften the felt of piano hammers.

For one piano after another the network is fitted to strikes recorded before and after the needling. While it fits, the
state is set aside twice a second together with its score; when the work on a piano is over the best state is taken
up again and is the start for the next piano.

ticket: practice
class: app-leak
holder: snapshots
cause: snapshots-kept
"""
import os
import time

import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 6
SNAPSHOT_ROUNDS = 3
PIANO_ROUNDS = 12
WIDTH = 512
BATCH = 32


class VoicingNet(nn.Module):
    """From the spectrum of a hard hammer to the spectrum after the needling."""

    def __init__(self):
        super().__init__()
        self.attack = nn.Linear(WIDTH, WIDTH)
        self.felt = nn.Linear(WIDTH, WIDTH)
        self.bloom = nn.Linear(WIDTH, WIDTH)

    def forward(self, spectrum):
        hidden = torch.relu(self.attack(spectrum))
        hidden = hidden + torch.relu(self.felt(hidden))
        return self.bloom(hidden)


class Recordings:
    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.new_piano()

    def new_piano(self):
        self.softness = torch.rand(WIDTH, device=DEVICE, generator=self.generator)

    def batch(self):
        before = torch.randn(BATCH, WIDTH, device=DEVICE, generator=self.generator)
        return before, before * torch.exp(-self.softness)


class Voicing:
    def __init__(self, recordings):
        self.recordings = recordings
        self.net = VoicingNet().to(DEVICE)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.05)
        self.loss = nn.MSELoss()
        self.snapshots = {}
        self.scores = {}
        self.pianos = 0

    def fit(self):
        before, after = self.recordings.batch()
        self.optimizer.zero_grad()
        loss = self.loss(self.net(before), after)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def score(self):
        before, after = self.recordings.batch()
        return self.loss(self.net(before), after).item()

    def set_aside(self, step):
        state = {name: value.clone() for name, value in self.net.state_dict().items()}  # grows
        self.snapshots[step] = state  # keeps
        self.scores[step] = self.score()

    def finish_piano(self):
        best = min(self.scores, key=self.scores.get)
        score = self.scores[best]
        self.net.load_state_dict(self.snapshots[best])
        self.scores.clear()
        self.recordings.new_piano()
        self.pianos += 1
        return score


def main():
    torch.set_num_threads(1)
    torch.manual_seed(440)
    voicing = Voicing(Recordings(seed=52))
    start = time.monotonic()
    step = 0
    best = float("nan")
    while time.monotonic() - start < SECONDS:
        loss = voicing.fit()
        step += 1
        if step % SNAPSHOT_ROUNDS == 0:
            voicing.set_aside(step)
        if step % PIANO_ROUNDS == 0:
            best = voicing.finish_piano()
        if step % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"step {step}: loss {loss:.4f}, piano {voicing.pianos}, last piano's best {best:.4f}", flush=True)
        time.sleep(max(0.0, start + step / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"voiced {voicing.pianos} pianos in {step} steps", flush=True)


if __name__ == "__main__":
    main()
