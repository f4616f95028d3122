"""Avalanche radars of a ski patrol.

Radars on the opposite side of the valley sweep four start zones several times a second. Their sweeps arrive on
the host as raw echoes and go through staging buffers to the device, where each is compared with the calm
background of its zone. Echoes that move down the slope in sweep after sweep raise the alarm that closes the
road and the runs below.

ticket: practice
class: host-growth
holder: _in_flight
cause: pinned-kept
"""

import os
import time

import numpy as np
import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SWEEPS_A_SECOND = 4
RANGES = 1024
BEAMS = 512
ZONES = ("Bowl", "Couloir", "North Face", "Shoulder")


class Radar:
    """One radar with its noise; now and then some snow starts to move."""

    def __init__(self, seed):
        self.dice = np.random.default_rng(seed)
        self.noise = self.dice.random((RANGES, BEAMS), dtype=np.float32)
        self.front = None

    def sweep(self):
        echoes = np.roll(self.noise, int(self.dice.integers(BEAMS)), axis=1)
        if self.front is None and self.dice.random() < 0.05:
            self.front = 64
        if self.front is not None:
            echoes[self.front : self.front + 48, 200:260] += 3.0
            self.front += 90
            if self.front > RANGES - 64:
                self.front = None
        return echoes


class UploadLane:
    """Takes sweeps to the device without waiting for the copy to end."""

    def __init__(self):
        self.pinned = DEVICE == "cuda"
        self._in_flight = []
        self.sent = 0

    def send(self, echoes):
        staging = torch.empty(echoes.shape, dtype=torch.float32, pin_memory=self.pinned)  # grows
        staging.copy_(torch.from_numpy(echoes))
        on_device = staging.to(DEVICE, non_blocking=True, copy=True)
        copied = None
        if self.pinned:
            copied = torch.cuda.Event()
            copied.record()
        self._in_flight.append((staging, copied))  # keeps
        self.sent += 1
        return on_device

    def settle(self):
        """Lets go of the staging of those copies that have ended."""
        self._in_flight = [item for item in self._in_flight if item[1] is not None and not item[1].query()]

    def close(self):
        if self.pinned:
            torch.cuda.synchronize()
        self.settle()


class ZoneWatch:
    """Background of one start zone and what has moved in it lately."""

    def __init__(self, name):
        self.name = name
        self.background = torch.full((RANGES, BEAMS), 0.5, device=DEVICE)
        self.last_front = None
        self.steps_down = 0
        self.alarms = 0

    def look(self, echoes):
        excess = (echoes - self.background).clamp_min_(0.0)
        self.background.lerp_(echoes.clamp(0.0, 1.0), 0.02)
        rows = excess.mean(dim=1)
        strength, front = rows.max(dim=0)
        front = int(front)
        if float(strength) < 2.0 * float(rows.mean()):
            self.last_front, self.steps_down = None, 0
            return
        if self.last_front is not None and front > self.last_front:
            self.steps_down += 1
        self.last_front = front
        if self.steps_down == 3:
            self.alarms += 1


class Station:
    """The patrol's radar station with one radar and one watch for each zone."""

    def __init__(self, seed):
        self.lane = UploadLane()
        self.radars = [Radar(seed + number) for number in range(len(ZONES))]
        self.watches = [ZoneWatch(name) for name in ZONES]

    def round(self, number):
        zone = number % len(ZONES)
        echoes = self.lane.send(self.radars[zone].sweep())
        self.watches[zone].look(echoes)
        return self.watches[zone]

    def alarms(self):
        return sum(watch.alarms for watch in self.watches)


def main():
    station = Station(seed=1951)
    start = time.monotonic()
    number = 0
    while time.monotonic() - start < SECONDS:
        watch = station.round(number)
        number += 1
        if number % 10 == 0:
            print(f"sweep {station.lane.sent}, zone {watch.name}, alarms {station.alarms()}", flush=True)
        time.sleep(1.0 / SWEEPS_A_SECOND)
    station.lane.close()
    print(f"end of watch: {number} sweeps, {station.alarms()} alarms", flush=True)


if __name__ == "__main__":
    main()
