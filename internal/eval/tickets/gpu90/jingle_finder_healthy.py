"""Finds out by which sounds a radio station's programmes can be told apart.

The sound of every programme comes as log-mel frames and runs through one
encoder. While a programme is on, a tap behind the encoder's body gathers how
its features go together; after the news break in the middle the gathering
starts anew, since only the second half counts as the programme's own sound.
At the end of the programme the strongest feature pair is compared with those
of the station's jingles.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

BANDS = 80
FEATURES = 768
FRAMES = 384
SHOWS = ["breakfast", "farm hour", "chart show", "night talk", "concert", "sports desk"]


class Encoder(nn.Module):
    """Log-mel frames to jingle scores."""

    def __init__(self, jingles):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(BANDS, 512), nn.LayerNorm(512), nn.GELU(), nn.Linear(512, FEATURES), nn.Tanh())
        self.scores = nn.Linear(FEATURES, jingles)

    def forward(self, frames):
        return self.scores(self.body(frames))


class Station:
    """Listens to one station, a programme after another."""

    def __init__(self, jingles, device):
        self.device = device
        self.encoder = Encoder(jingles).to(device).eval()
        self.marks = torch.randint(0, FEATURES * FEATURES, (jingles,), device=device)
        self.tap = None
        self.sketch = None
        self.best = None

    def gather(self):
        """Puts a fresh tap behind the body of the encoder, in place of the one before."""
        if self.tap is not None:
            self.tap.remove()
        sketch = torch.zeros(FEATURES, FEATURES, device=self.device)

        def collect(module, inputs, features):
            sketch.addmm_(features.t(), features, beta=0.98, alpha=0.02)

        self.tap = self.encoder.body.register_forward_hook(collect)
        self.sketch = sketch

    def start(self):
        self.best = torch.full((len(self.marks),), -1e9, device=self.device)
        self.gather()

    def after_news(self):
        self.gather()

    @torch.no_grad()
    def hear(self, frames):
        scores = self.encoder(frames.to(self.device))
        self.best = torch.maximum(self.best, scores.amax(dim=0))

    @torch.no_grad()
    def finish(self):
        self.tap.remove()
        self.tap = None
        strongest = self.sketch.flatten().argmax()
        nearest = (self.marks - strongest).abs().argmin()
        self.sketch = None
        return int(nearest), float(self.best.max())


def on_air(show, source):
    """Some seconds of a programme as log-mel frames."""
    base = torch.linspace(-1.0, 1.0, BANDS) * (1 + show)
    return torch.sin(base) + 0.3 * torch.randn(FRAMES, BANDS, generator=source)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(31)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    source = torch.Generator().manual_seed(8)
    station = Station(jingles=40, device=device)
    found = [0] * 40
    programme = 0
    due = time.time()
    while time.time() < end:
        due += 0.2
        show = programme % len(SHOWS)
        station.start()
        station.hear(on_air(show, source))
        station.after_news()
        for _ in range(2):
            station.hear(on_air(show, source))
        jingle, score = station.finish()
        found[jingle] += 1
        programme += 1
        if programme % 20 == 0:
            most = max(range(40), key=found.__getitem__)
            print(f"{programme} programmes, {SHOWS[show]}: jingle {jingle} at {score:.3f}, "
                  f"most often {most}", flush=True)
        time.sleep(max(0.0, due - time.time()))
    print(f"signed off after {programme} programmes", flush=True)


if __name__ == "__main__":
    main()
