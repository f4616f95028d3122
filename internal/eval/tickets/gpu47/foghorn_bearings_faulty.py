"""Where does the foghorn sound? A mast of hydrophones turns with the ship, and for each bearing it is steered to, the
phases of every microphone and frequency are needed. They are dear to work out, so they are worked out once for a
bearing and taken from the table when the mast comes round again.

ticket: practice
class: host-growth
holder: table Steering
cause: cache-without-bound
"""

import math
import os
import random
import time

import numpy as np
import torch

MICROPHONES, BANDS, SPEED, SPOTS = 48, 1500, 1480.0, 24


class Steering:
    """The phases by bearing, on the host, where the recorder needs them as well."""

    def __init__(self, device):
        self.device = device
        self.table = {}
        self.places = torch.rand(MICROPHONES, 2, device=device) * 6 - 3
        self.rates = 2 * math.pi * torch.linspace(40, 2000, BANDS, device=device)

    def work_out(self, bearing):
        """Phases averaged over spots around the bearing, as the horn is not a point."""
        angles = math.radians(bearing) + 0.02 * torch.randn(SPOTS, device=self.device)
        ways = torch.stack([angles.cos(), angles.sin()])
        delays = self.places @ ways / SPEED
        total = torch.zeros(MICROPHONES, BANDS, dtype=torch.complex64, device=self.device)
        for spot in range(SPOTS):
            turns = delays[:, spot, None] * self.rates
            total += torch.polar(torch.ones_like(turns), -turns)
        return (total / SPOTS).cpu().numpy()  # grows

    def phases(self, bearing):
        if bearing not in self.table:
            self.table[bearing] = self.work_out(bearing)  # keeps
        return self.table[bearing]


def listen(horn, bearing):
    """The spectrum at each microphone: noise, and the horn when the mast looks at it."""
    noise = np.random.randn(MICROPHONES, BANDS) + 1j * np.random.randn(MICROPHONES, BANDS)
    near = math.cos(math.radians(horn - bearing))
    return (noise + max(near, 0.0)).astype(np.complex64)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    steering = Steering(device)
    horn, heading, mast, looks = random.uniform(0, 360), random.uniform(0, 360), 0.0, 0
    loudest = 0.0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        heading += random.gauss(0, 0.4)
        mast += 11.25
        bearing = (heading + mast) % 360
        beam = np.abs((steering.phases(bearing).conj() * listen(horn, bearing)).mean(axis=0)).mean()
        loudest = max(loudest, (float(beam), bearing))
        looks += 1
        if looks % 50 == 0:
            print(f"{looks} looks: top {loudest[0]:.3f} at {loudest[1]:.0f} degrees, horn at {horn:.0f}", flush=True)
            loudest = 0.0, 0.0
        time.sleep(0.04)


if __name__ == "__main__":
    main()
