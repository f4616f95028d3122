"""Reeling room of a silk mill.

Filaments from several cocoons are drawn together out of a hot basin into one raw silk thread. A size detector above
each basin measures the thread's denier along its length, and the foreman looks at the evenness of the last seconds
to decide whether a fresh cocoon has to be cast in.

    ticket: practice
    class: none
"""
import os
import time
from collections import deque
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 6.0
BASINS = 8
SAMPLES = 32768
TAPS = 9
WINDOW_MS = 2500.0
NOMINAL_DENIER = 21.0


@dataclass
class Trace:
    at: float
    deniers: torch.Tensor


class DenierHistory:
    """The traces of the last moments of one basin, oldest first."""

    def __init__(self, window_ms):
        self.window_ms = window_ms
        self._traces = deque()

    def add(self, at, deniers):
        self._traces.append(Trace(at, deniers))
        while (at - self._traces[0].at) * 1000.0 > self.window_ms:
            self._traces.popleft()

    def latest(self, count):
        newest = []
        for trace in reversed(self._traces):
            newest.append(trace.deniers)
            if len(newest) == count:
                break
        return newest

    def evenness(self):
        recent = torch.stack([deniers.std() for deniers in self.latest(5)])
        return float(recent.mean())


@dataclass
class Basin:
    number: int
    cocoons: int = 7
    casts: int = 0
    history: DenierHistory = field(default_factory=lambda: DenierHistory(WINDOW_MS))

    @property
    def expected_denier(self):
        return NOMINAL_DENIER * self.cocoons / 7.0

    def cast_cocoon(self):
        self.cocoons += 1
        self.casts += 1


class SizeDetector:
    """Reads one length of thread and takes the flutter of the croisure out of it."""

    def __init__(self, seed):
        self.rng = torch.Generator(device=DEVICE).manual_seed(seed)
        window = torch.hann_window(TAPS + 2, periodic=False, device=DEVICE)[1:-1]
        self.kernel = (window / window.sum()).view(1, 1, TAPS)

    def read(self, basin):
        raw = torch.randn(1, 1, SAMPLES + TAPS - 1, generator=self.rng, device=DEVICE)
        raw.mul_(1.8).add_(basin.expected_denier)
        smooth = F.conv1d(raw, self.kernel)
        return smooth.view(-1)


class ReelingRoom:
    def __init__(self):
        self.detector = SizeDetector(seed=1871)
        self.basins = [Basin(number) for number in range(1, BASINS + 1)]
        self.exhausted = torch.Generator().manual_seed(5)

    def wear_cocoons(self):
        chances = torch.rand(BASINS, generator=self.exhausted)
        for basin, chance in zip(self.basins, chances.tolist()):
            if chance < 0.05 and basin.cocoons > 4:
                basin.cocoons -= 1

    def round(self, now):
        for basin in self.basins:
            deniers = self.detector.read(basin)
            basin.history.add(now, deniers)
            if float(deniers.mean()) < NOMINAL_DENIER - 1.5:
                basin.cast_cocoon()
        self.wear_cocoons()


def main():
    room = ReelingRoom()
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        room.round(time.monotonic())
        rounds += 1
        if rounds % 18 == 0:
            worst = max(room.basins, key=lambda basin: basin.history.evenness())
            print(f"round {rounds}: basin {worst.number} least even, spread {worst.history.evenness():.3f} denier",
                  flush=True)
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    print(f"{rounds} rounds, {sum(basin.casts for basin in room.basins)} cocoons cast in", flush=True)


if __name__ == "__main__":
    main()
