"""Flood outlook for teams inside a cave during a rescue.

Rain on the plateau reaches the lower galleries within hours. For each team that asks, the outlook routes the
rain through the galleries above that team and says by how much the water at its place will rise. Outlooks
compute in an arena of their own, so that the one of a team does not disturb the live gauge map.

ticket: practice
class: pool-growth
holder: _arenas
cause: pools-kept
"""
import os
import random
import time
from dataclasses import dataclass

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 4
ROUNDS_PER_OUTLOOK = 4
ROWS, COLUMNS = 512, 1024
ROUTING_STEPS = 12
GAUGE_LAYERS = 16
TEAMS = ("medics", "stretcher party", "riggers", "divers", "telephone party")

route = cp.ElementwiseKernel(
    "float32 level, float32 slope, float32 rain",
    "float32 next_level",
    "next_level = level * (0.96f - 0.05f * slope) + rain * (0.2f + 0.1f * slope)",
    "route_gallery_water",
)


@dataclass(frozen=True)
class Outlook:
    """The answer for one team."""

    number: int
    team: str
    rise: float
    highest: float


class GaugeMap:
    """Water levels of all galleries as the gauges show them now."""

    def __init__(self, seed: int):
        generator = cp.random.RandomState(seed)
        self.layers = generator.random_sample((GAUGE_LAYERS, ROWS, COLUMNS), dtype=cp.float32)
        self.slopes = generator.random_sample((ROWS, COLUMNS), dtype=cp.float32)

    def update(self, rounds: int, rain: float) -> None:
        layer = self.layers[rounds % GAUGE_LAYERS]
        layer *= cp.float32(0.995)
        layer += cp.float32(0.005 * rain)

    def level(self, layer: int) -> cp.ndarray:
        return self.layers[layer]


class FloodOutlooks:
    """Computes outlooks and notes how large each one was."""

    def __init__(self, gauges: GaugeMap):
        self.gauges = gauges
        self._arenas: dict[int, cp.cuda.MemoryPool] = {}
        self.given = 0
        self.peak_bytes = 0

    def ask(self, team: str, layer: int, rain: float) -> Outlook:
        number = self.given
        self.given += 1
        self._arenas[number] = cp.cuda.MemoryPool()  # keeps
        with cp.cuda.using_allocator(self._arenas[number].malloc):
            rise, highest = self._route(self.gauges.level(layer), rain)
        self._close(number)
        return Outlook(number, team, rise, highest)

    def _route(self, start: cp.ndarray, rain: float) -> tuple[float, float]:
        level = cp.empty_like(start)  # grows
        following = cp.empty_like(start)  # grows
        rainfall = cp.full(start.shape, rain, dtype=cp.float32)  # grows
        level[...] = start
        for _ in range(ROUTING_STEPS):
            route(level, self.gauges.slopes, rainfall, following)
            level, following = following, level
            rainfall *= cp.float32(0.9)
        middle = float(level[ROWS // 2, COLUMNS // 2]) - float(start[ROWS // 2, COLUMNS // 2])
        return middle, float(level.max())

    def _close(self, number: int) -> None:
        arena = self._arenas[number]
        self.peak_bytes = max(self.peak_bytes, arena.total_bytes())


def main() -> None:
    weather = random.Random(91)
    gauges = GaugeMap(seed=92)
    outlooks = FloodOutlooks(gauges)
    started = time.monotonic()
    due = started
    next_report = started + 3.0
    rounds = 0
    latest = None
    while time.monotonic() - started < SECONDS:
        rain = weather.uniform(0.0, 2.0)
        gauges.update(rounds, rain)
        if rounds % ROUNDS_PER_OUTLOOK == 0:
            team = TEAMS[outlooks.given % len(TEAMS)]
            latest = outlooks.ask(team, rounds % GAUGE_LAYERS, rain)
        rounds += 1
        if latest is not None and time.monotonic() >= next_report:
            print(f"outlook {latest.number} for the {latest.team}: {latest.rise:+.2f} m, "
                  f"highest {latest.highest:.2f} m", flush=True)
            next_report += 3.0
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"{outlooks.given} outlooks given, {outlooks.peak_bytes / 2**20:.1f} MiB for the largest", flush=True)


if __name__ == "__main__":
    main()
