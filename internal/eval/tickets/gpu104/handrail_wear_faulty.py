"""The moving handrail of an escalator is watched by a strip of thickness gauges. A small network reads the strip and
predicts how many weeks the rail still has; for each section of the rail a probe sums up what two of its layers see,
so that an engineer can tell a worn lip from a stretched core. Sections and their wear are simulated.

ticket: practice
class: app-leak
holder: _forward_hooks coarse
cause: hooks-left
"""
import os
import time
from collections import deque
from functools import partial

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
GAUGES = 8
SAMPLES = 2048
CHANNELS = {"coarse": 64, "fine": 64}
PASSES = 3
SECTIONS_A_SECOND = 5.0


class RailNet(nn.Module):
    """Two scales of convolutions over the strip, and a head for the weeks left."""

    def __init__(self):
        super().__init__()
        self.coarse = nn.Conv1d(GAUGES, CHANNELS["coarse"], 9, padding=4)
        self.fine = nn.Conv1d(CHANNELS["coarse"], CHANNELS["fine"], 5, padding=2)
        self.head = nn.Linear(CHANNELS["fine"], 1)

    def forward(self, strip):
        hidden = torch.relu(self.fine(torch.relu(self.coarse(strip))))
        return self.head(hidden.mean(dim=2)).squeeze(1)


class Rail:
    """Thickness readings of the sections, worn more on the inner lip."""

    def __init__(self, seed):
        self._dice = torch.Generator().manual_seed(seed)
        self.wear = torch.rand(40, generator=self._dice)
        self.lip = torch.linspace(1.0, 0.2, GAUGES).unsqueeze(1)

    def read(self, section):
        """A few passes of the section under the gauges, and its true weeks."""
        wear = self.wear[section % len(self.wear)]
        noise = 0.05 * torch.randn(PASSES, GAUGES, SAMPLES, generator=self._dice)
        weeks = (60.0 * (1.0 - wear)).expand(PASSES)
        return (1.0 - wear * self.lip + noise).to(DEVICE), weeks.to(DEVICE)


class WearProbe:
    """Sums the activations of the two scales while one section is read."""

    def __init__(self, net, section):
        self.section = section
        self.passes = 0
        self.totals = {name: torch.zeros(width, SAMPLES, device=DEVICE) for name, width in CHANNELS.items()}  # grows
        for name in CHANNELS:
            layer = getattr(net, name)
            self._handle = layer.register_forward_hook(partial(self._add, name))  # keeps

    def _add(self, name, layer, inputs, output):
        if self.section is not None:
            self.totals[name] += output.detach().sum(dim=0)
            self.passes += output.shape[0]

    def close(self):
        """Stop watching and return how strongly each scale has answered."""
        self._handle.remove()
        self.section = None
        scale = max(1, self.passes)
        return {name: (total / scale).abs().mean().item() for name, total in self.totals.items()}


class Inspector:
    def __init__(self, seed=31):
        torch.manual_seed(seed)
        self.rail = Rail(seed)
        self.net = RailNet().to(DEVICE)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=2e-5, momentum=0.9)
        self.verdicts = deque(maxlen=20)
        self.loss = float("nan")

    def inspect(self, section):
        """Read one section under a probe, judge it and learn from the workshop's answer."""
        strip, weeks = self.rail.read(section)
        probe = WearProbe(self.net, section)
        predicted = self.net(strip)
        answers = probe.close()
        loss = nn.functional.smooth_l1_loss(predicted, weeks)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.loss = loss.item()
        self.verdicts.append("lip" if answers["fine"] > answers["coarse"] else "core")


def main():
    torch.set_num_threads(1)
    inspector = Inspector()
    start = time.monotonic()
    next_line = start + 2.0
    section = 0
    while time.monotonic() - start < SECONDS:
        inspector.inspect(section)
        section += 1
        if time.monotonic() >= next_line:
            lips = inspector.verdicts.count("lip")
            print(f"section {section}: error {inspector.loss:.2f} weeks, {lips} of the last by the lip", flush=True)
            next_line += 3.0
        time.sleep(1.0 / SECTIONS_A_SECOND)
    print(f"rail read: {section} sections, error {inspector.loss:.2f} weeks", flush=True)


if __name__ == "__main__":
    main()
