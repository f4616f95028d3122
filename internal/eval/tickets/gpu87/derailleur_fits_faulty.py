"""Setting derailleurs in a bicycle workshop.

A bicycle is clamped in the stand, all gears are shifted through a few times, and the vibration of the hanger is
recorded. A network with a trunk that is common to all bicycles and a last part for the one in the stand learns to
say, from a recording, how the cable should be pulled over the whole cassette. The trunk goes on learning slowly from
bicycle to bicycle, the last part is fitted afresh in a few steps, and the mechanic reads the setting off it.

ticket: practice
class: app-leak
holder: param_groups exp_avg
cause: optimizer-groups-added
"""
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

SHIFTS = 64
SAMPLES = 256
WIDTH = 512
HEAD_WIDTH = 1024
CURVE = 512
STEPS = 8
STAND_SECONDS = 0.45
MAKES = ("tourer", "racer", "cargo", "folding", "mountain", "children's")


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(SAMPLES, WIDTH),
            nn.LayerNorm(WIDTH),
            nn.GELU(),
            nn.Linear(WIDTH, WIDTH),
            nn.GELU(),
        )

    def forward(self, recordings):
        return self.layers(recordings)


class CableHead(nn.Module):
    """From the trunk's features to the pull of the cable over the cassette."""

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(WIDTH, HEAD_WIDTH)
        self.pull = nn.Linear(HEAD_WIDTH, CURVE)

    def forward(self, features):
        return self.pull(F.gelu(self.hidden(features)))


class Stand:
    """Records the shifts of the bicycle that is clamped in it."""

    def __init__(self, device):
        self.device = device
        self.hang = torch.randn(len(MAKES), SAMPLES, device=device)
        self.wanted = torch.randn(SAMPLES, CURVE, device=device) / SAMPLES ** 0.5

    def record(self, make):
        bend = 0.3 * torch.randn(1, SAMPLES, device=self.device)
        recordings = self.hang[make] + bend + 0.2 * torch.randn(SHIFTS, SAMPLES, device=self.device)
        return recordings, torch.tanh(recordings @ self.wanted)


class Workshop:
    def __init__(self, device):
        self.device = device
        self.trunk = Trunk().to(device)
        self.optimizer = torch.optim.Adam(self.trunk.parameters(), lr=1e-4)
        self.stand = Stand(device)
        self.served = 0
        self.usual_loss = None

    def serve(self, make):
        """One bicycle: record, fit, read the setting off."""
        recordings, wanted = self.stand.record(make)
        head = CableHead().to(self.device)  # grows
        self.optimizer.add_param_group({"params": list(head.parameters()), "lr": 2e-3})  # keeps
        for _ in range(STEPS):
            loss = F.smooth_l1_loss(head(self.trunk(recordings)), wanted)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()  # grows
        setting = self.setting(head, recordings)
        self.served += 1
        last = loss.item()
        self.usual_loss = last if self.usual_loss is None else 0.9 * self.usual_loss + 0.1 * last
        return setting

    @torch.no_grad()
    def setting(self, head, recordings):
        curve = head(self.trunk(recordings)).mean(dim=0)
        turns = curve.view(8, -1).mean(dim=1)
        return int(turns.abs().argmax()), turns.sum().item()


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(29)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    workshop = Workshop(device)
    print(f"workshop open, on {device}", flush=True)
    due = time.time()
    while time.time() < deadline:
        make = workshop.served * 5 % len(MAKES)
        sprocket, turns = workshop.serve(make)
        if workshop.served % 8 == 0:
            print(f"bicycle {workshop.served} ({MAKES[make]}): {turns:+.2f} turns, look at sprocket {sprocket + 1}; "
                  f"usual loss {workshop.usual_loss:.4f}", flush=True)
        due += STAND_SECONDS
        pause = due - time.time()
        if pause > 0:
            time.sleep(pause)
        else:
            due = time.time()
    print(f"{workshop.served} bicycles served", flush=True)


if __name__ == "__main__":
    main()
