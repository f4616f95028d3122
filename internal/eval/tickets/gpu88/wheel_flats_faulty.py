"""Listen to trains at a wheel gate and name the axles that hammer the rail.

Strain gauges glued to the rail of four tracks give one short trace for every axle that rolls over them. A small
convolutional network turns a trace into a handful of traits. For each track the gate knows the usual traits of a
round wheel on that track, and an axle whose traits lie far from them is put on the list for the wheel lathe. The
usual traits follow the season slowly, since frost and heat change the stiffness of the ballast. Between trains the
network goes on learning to redraw the traces of the round wheels that it has just heard.

ticket: practice
class: app-leak
holder: usual
cause: uncut-autograd-graph
"""
import os
import random
import time

import torch
from torch import nn

TRACKS = ("north main", "south main", "freight loop", "depot lead")
AXLES = 12
SAMPLES = 2048
TRAITS = 24
TRAINS_A_SECOND = 6.0


class TraceNet(nn.Module):
    """Traits of a trace, and a coarse redrawing of the trace from its traits."""

    def __init__(self):
        super().__init__()
        self.listen = nn.Sequential(
            nn.Conv1d(1, 16, 9, stride=2, padding=4), nn.GELU(),
            nn.Conv1d(16, 32, 9, stride=2, padding=4), nn.GELU(),
            nn.Conv1d(32, 48, 9, stride=2, padding=4), nn.GELU(),
        )
        self.traits = nn.Linear(48 * 8, TRAITS)
        self.redraw = nn.Sequential(nn.Linear(TRAITS, 128), nn.GELU(), nn.Linear(128, SAMPLES // 8))

    def encode(self, traces):
        heard = self.listen(traces)
        pooled = heard.view(len(heard), 48, 8, -1).mean(dim=3)
        return self.traits(pooled.flatten(1))

    def forward(self, traces):
        return self.redraw(self.encode(traces))


class TrackSide:
    """Plays the part of the amplifier cabinet: traces of the axles of one train."""

    def __init__(self, device):
        self.device = device
        self.clock = torch.linspace(0.0, 1.0, SAMPLES, device=device)
        self.dice = random.Random(31)

    def train(self):
        track = self.dice.randrange(len(TRACKS))
        pitch = 6.0 + 1.5 * track
        load = 1.0 + 0.2 * torch.randn(AXLES, 1, device=self.device)
        traces = load * torch.exp(-((self.clock - 0.5) * pitch) ** 2)
        traces = traces + 0.02 * torch.randn(AXLES, SAMPLES, device=self.device)
        for axle in range(AXLES):
            if self.dice.random() < 0.05:
                strike = self.dice.uniform(0.35, 0.65)
                traces[axle] += 1.5 * torch.exp(-((self.clock - strike) * 90.0) ** 2)
        return track, traces[:, None, :]


class WheelGate:
    def __init__(self, device):
        self.net = TraceNet().to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-4)
        self.usual = [torch.zeros(TRAITS, device=device) for _ in TRACKS]
        self.heard = [0 for _ in TRACKS]

    def judge(self, track, traces):
        """Numbers of the axles that differ from the usual, and of those that are round for certain."""
        self.net.eval()
        traits = self.net.encode(traces)  # grows
        apart = (traits - self.usual[track]).pow(2).mean(dim=1)
        order = apart.argsort()
        round_ones = order[: AXLES // 2]
        pace = 0.5 if self.heard[track] < 5 else 0.03
        self.usual[track] = torch.lerp(self.usual[track], traits[round_ones].mean(dim=0), pace)  # keeps
        self.heard[track] += 1
        far = apart > 3.0 * apart.median()
        return far.nonzero().flatten().tolist(), round_ones

    def learn(self, traces):
        self.net.train()
        aim = traces.view(len(traces), SAMPLES // 8, 8).mean(dim=2)
        loss = nn.functional.smooth_l1_loss(self.net(traces), aim)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    stop = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(4)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    side, gate = TrackSide(device), WheelGate(device)

    trains, lathe, redrawn = 0, 0, 0.0
    due = time.time()
    while time.time() < stop:
        track, traces = side.train()
        flagged, round_ones = gate.judge(track, traces)
        lathe += len(flagged)
        trains += 1
        if trains % 2 == 0:
            redrawn = gate.learn(traces[round_ones])
        if trains % 25 == 0:
            print(f"{trains} trains, last on {TRACKS[track]}, {lathe} axles for the lathe, "
                  f"redrawing {redrawn:.4f}", flush=True)
        due = max(due + 1.0 / TRAINS_A_SECOND, time.time() - 0.5)
        time.sleep(max(0.0, due - time.time()))
    print(f"end of watch: {trains} trains, {trains * AXLES} axles, {lathe} for the lathe", flush=True)


if __name__ == "__main__":
    main()
