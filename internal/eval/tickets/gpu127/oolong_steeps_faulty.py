"""Steeping adviser of a tea house.

Guests order a leaf; the kettle reports how hot its water is at that moment. The adviser computes how
tannins, aromas and sugars come out of the rolled leaves over the minutes and tells the brewer when to pour.
The same leaf at the same heat always steeps alike, so curves that were computed once serve again.

ticket: practice
class: app-leak
holder: _curves
cause: cache-without-bound
"""
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ORDERS_PER_SECOND = 12
LEAVES = ("dong ding", "tieguanyin", "alishan", "da hong pao")
PARCELS = 512
TIME_STEPS = 256
SOLUTES = 48
STEP_SECONDS = 1.5


class LeafCatalogue:
    """Diffusion rates of the solutes in the parcels of each leaf."""

    def __init__(self, seed: int):
        generator = torch.Generator().manual_seed(seed)
        shape = (len(LEAVES), PARCELS, SOLUTES)
        self._rates = (torch.rand(shape, generator=generator) * 0.02 + 0.002).to(DEVICE)
        self._yields = torch.rand(shape, generator=generator).to(DEVICE)

    def rates(self, leaf: str) -> torch.Tensor:
        return self._rates[LEAVES.index(leaf)]

    def yields(self, leaf: str) -> torch.Tensor:
        return self._yields[LEAVES.index(leaf)]


class Kettle:
    """A copper kettle that is refilled and heated again through the day."""

    def __init__(self, seed: int):
        self._generator = torch.Generator().manual_seed(seed)
        self.fillings = 0

    def read(self) -> float:
        self.fillings += 1
        return 77.5 + 15.0 * torch.rand(1, generator=self._generator, dtype=torch.float64).item()


class SteepingModel:
    """Extraction curves by first-order diffusion."""

    def __init__(self, catalogue: LeafCatalogue):
        self.catalogue = catalogue
        self._times = torch.arange(1, TIME_STEPS + 1, device=DEVICE, dtype=torch.float32) * STEP_SECONDS
        self.solved = 0

    def solve(self, leaf: str, heat: float) -> torch.Tensor:
        self.solved += 1
        speed = 1.08 ** (heat - 85.0)
        rates = self.catalogue.rates(leaf).mean(dim=1, keepdim=True) * speed
        strength = self.catalogue.yields(leaf).mean(dim=1, keepdim=True)
        remaining = torch.exp(-rates * self._times)
        return strength * (1.0 - remaining)  # grows


class SteepingAdviser:
    """Looks up or computes the curve of an order and finds the moment to pour."""

    def __init__(self, model: SteepingModel):
        self.model = model
        self._curves: dict[tuple[str, float], torch.Tensor] = {}
        self.orders = 0
        self.reused = 0

    def curve(self, leaf: str, heat: float) -> torch.Tensor:
        key = (leaf, heat)
        found = self._curves.get(key)
        if found is not None:
            self.reused += 1
            return found
        solved = self.model.solve(leaf, heat)
        self._curves[key] = solved  # keeps
        return solved

    def pour_after(self, leaf: str, heat: float, taste: float) -> float:
        self.orders += 1
        cup = self.curve(leaf, heat).mean(dim=0)
        reached = torch.nonzero(cup >= taste * cup[-1])
        step = int(reached[0]) + 1 if len(reached) else TIME_STEPS
        return step * STEP_SECONDS


def main() -> None:
    torch.set_num_threads(1)
    guests = torch.Generator().manual_seed(17)
    model = SteepingModel(LeafCatalogue(seed=18))
    adviser = SteepingAdviser(model)
    kettle = Kettle(seed=19)
    started = time.monotonic()
    due = started
    next_report = started + 4.0
    waits: list[float] = []
    while time.monotonic() - started < SECONDS:
        leaf = LEAVES[int(torch.randint(len(LEAVES), (1,), generator=guests))]
        taste = 0.4 + 0.4 * torch.rand(1, generator=guests).item()
        waits.append(adviser.pour_after(leaf, kettle.read(), taste))
        if time.monotonic() >= next_report:
            mean_wait = sum(waits) / len(waits)
            print(f"{adviser.orders} orders, pour after {mean_wait:.0f} s on average, "
                  f"{model.solved} curves solved", flush=True)
            waits.clear()
            next_report += 4.0
        due += 1.0 / ORDERS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"tea house closes after {adviser.orders} orders, {adviser.reused} served from known curves", flush=True)


if __name__ == "__main__":
    main()
