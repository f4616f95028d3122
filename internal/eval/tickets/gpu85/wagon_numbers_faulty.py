"""Reads the twelve-digit numbers of goods wagons that roll past a yard camera.

A line camera builds one long picture of each wagon's side.  The strip with the
number is cut out, scaled and given to a network that reads twelve digits from
it.  The last digit checks the others by the railways' usual rule (digits
doubled in turn, the sum of the figures to the next ten).  A number that passes
is booked into the yard's list; one that fails, or that is read too faintly,
goes to the clerks to be typed in by hand.

ticket: practice
class: host-growth
holder: misreadings __traceback__ tb_frame
cause: exception-kept
"""
import collections
import os
import time

import numpy as np
import torch
import torch.nn as nn

DIGITS = 12
LONG = 2048
HIGH = 384
PACE = 0.05

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Misreading(Exception):
    """The number of a wagon could not be established."""


class DigitReader(nn.Module):
    """Twelve digits side by side from a strip of 64 by 384 pixels."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 48, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.digits = nn.Linear(48 * 8 * 4, 10)

    def forward(self, strip):
        x = self.features(strip)
        x = x.view(*x.shape[:3], DIGITS, 4)
        x = x.permute(0, 3, 1, 2, 4).flatten(2)
        return self.digits(x)


class LineCamera:
    """Builds the picture of a wagon's side, column by column."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.paint = self.rng.integers(0, 64, size=(HIGH, LONG), dtype=np.uint8)

    def wagon(self):
        tone = int(self.rng.integers(40, 160))
        side = self.paint + np.uint8(tone)
        column = int(self.rng.integers(0, LONG - 384))
        side[100:164, column:column + 384] ^= self.rng.integers(0, 256, size=(64, 384), dtype=np.uint8)
        return side, column


def check_number(digits, sureness):
    """The number as text, or a Misreading."""
    if sureness < 0.05:
        raise Misreading(f"faint, sureness {sureness:.3f}")
    total = 0
    for place, digit in enumerate(digits[:-1]):
        product = digit * (2 if place % 2 == 0 else 1)
        total += product // 10 + product % 10
    wanted = -total % 10
    if wanted != digits[-1]:
        raise Misreading(f"check digit {digits[-1]}, wanted {wanted}")
    text = "".join(map(str, digits))
    return f"{text[:2]} {text[2:4]} {text[4:8]} {text[8:11]}-{text[11]}"


class YardGate:
    def __init__(self):
        torch.manual_seed(37)
        self.reader = DigitReader().to(device).eval()
        self.camera = LineCamera(seed=4)
        self.booked = collections.deque(maxlen=50)
        self.misreadings = []
        self.passed = 0

    def read_strip(self, strip):
        with torch.inference_mode():
            picture = torch.from_numpy(strip).to(device).float().div(255.0)
            chances = self.reader(picture[None, None]).softmax(dim=2)[0]
            best, digits = chances.max(dim=1)
            return digits.tolist(), float(best.min())

    def identify(self):
        side, column = self.camera.wagon()  # grows
        strip = np.ascontiguousarray(side[100:164, column:column + 384])
        digits, sureness = self.read_strip(strip)
        return check_number(digits, sureness)

    def next_wagon(self):
        self.passed += 1
        try:
            self.booked.append(self.identify())
        except Misreading as misreading:
            self.misreadings.append(misreading)  # keeps


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    gate = YardGate()
    next_wagon = time.time()
    while time.time() < deadline:
        gate.next_wagon()
        if gate.passed % 80 == 0:
            last = gate.booked[-1] if gate.booked else "none"
            reason = gate.misreadings[-1] if gate.misreadings else "none"
            print(f"{gate.passed} wagons passed, last booked {last}, last for the clerks: {reason}", flush=True)
        next_wagon += PACE
        time.sleep(max(0.0, next_wagon - time.time()))
    print(f"gate closed: {gate.passed} wagons, last reason {str(gate.misreadings[-1])}", flush=True)


if __name__ == "__main__":
    main()
