"""A goldsmith casts small ingots, and how the metal cools in the mould decides whether it may be rolled or drawn.

The program follows the cooling of one casting after another on a section of the mould and judges how even it was.
From time to time a study of a new mould is laid out beside it, with slabs for the whole depth, and cleared again
after some seconds.

ticket: practice
class: none
"""

import os
import time
from dataclasses import dataclass

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
SECTION = (256, 512)
SLAB = (15, 512, 512)
SLABS = 20
CASTINGS_A_SECOND = 6
COOLING_STEPS = 12
CARDS = 24
STUDY_CYCLE = 10.0
STUDY_FROM, STUDY_TO = 3.0, 7.0
ALLOYS = {"fine gold": (1064.0, 0.21), "yellow 18": (930.0, 0.17), "rose 14": (905.0, 0.15), "white 18": (1040.0, 0.12)}


@dataclass
class Casting:
    number: int
    alloy: str
    unevenness: float
    section: cp.ndarray


class Mould:
    """A section through the mould with the metal in it."""

    def __init__(self, noise):
        self._noise = noise
        self._walls = cp.zeros(SECTION, dtype=cp.float32)
        self._walls[:, :8] = self._walls[:, -8:] = self._walls[-8:, :] = 1.0

    def cool(self, melt, conduction):
        heat = melt + 4.0 * self._noise.standard_normal(SECTION, dtype=cp.float32)
        for _ in range(COOLING_STEPS):
            around = cp.roll(heat, 1, 0) + cp.roll(heat, -1, 0) + cp.roll(heat, 1, 1) + cp.roll(heat, -1, 1)
            heat = heat + cp.float32(conduction) * (around - 4.0 * heat)
            heat -= self._walls * (heat - 300.0) * 0.2
        return heat


class MouldStudy:
    """Slabs for the whole depth of a new mould, laid out for as long as the study lasts."""

    def __init__(self, noise):
        self._noise = noise
        self._slabs = []
        self.finished = 0

    @property
    def laid_out(self):
        return bool(self._slabs)

    def lay_out(self):
        for depth in range(SLABS):
            slab = self._noise.standard_normal(SLAB, dtype=cp.float32)
            slab += depth
            self._slabs.append(slab)

    def stress(self):
        return max(float(slab.std()) for slab in self._slabs[::5])

    def clear(self):
        self._slabs.clear()
        cp.get_default_memory_pool().free_all_blocks()
        self.finished += 1


class Bench:
    """Casts one ingot after another and keeps the cards of the castings."""

    def __init__(self, mould):
        self.mould = mould
        self.castings = []
        self.cast_so_far = 0
        self._alloys = list(ALLOYS.items())

    def cast(self):
        alloy, (melt, conduction) = self._alloys[self.cast_so_far % len(self._alloys)]
        section = self.mould.cool(melt, conduction)
        unevenness = float(section.std() / section.mean())
        self.cast_so_far += 1
        self.castings.append(Casting(self.cast_so_far, alloy, unevenness, section))
        del self.castings[:-CARDS]

    def latest(self, count):
        cards = self.castings[-count:]
        hottest = max(float(card.section.max()) for card in cards)
        return sum(card.unevenness for card in cards) / len(cards), hottest


def main():
    noise = cp.random.default_rng(81)
    bench = Bench(Mould(noise))
    study = MouldStudy(noise)
    start = time.monotonic()
    next_line = start + 3.0
    stress = 0.0
    while time.monotonic() - start < SECONDS:
        begun = time.monotonic()
        bench.cast()
        in_study = STUDY_FROM <= (begun - start) % STUDY_CYCLE < STUDY_TO
        if in_study and not study.laid_out:
            study.lay_out()
        elif study.laid_out and not in_study:
            study.clear()
        if begun >= next_line:
            next_line += 3.0
            if study.laid_out:
                stress = study.stress()
            unevenness, hottest = bench.latest(CARDS)
            print(
                f"{bench.cast_so_far} castings, unevenness {unevenness:.4f}, hottest {hottest:.0f}, "
                f"studies {study.finished}, stress {stress:.3f}",
                flush=True,
            )
        time.sleep(max(0.01, 1.0 / CASTINGS_A_SECOND - (time.monotonic() - begun)))
    print(f"furnace out after {bench.cast_so_far} castings and {study.finished} studies", flush=True)


if __name__ == "__main__":
    main()
