"""
Striking plant of a town with five bell towers. For each stroke the plant computes the sound field of the bell, hands
it to the street microphones' model and plans a second look some strokes later, when the hum has settled, to correct
the hammer force of that tower.

ticket: practice
class: none
"""
import math
import os
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STROKES_PER_SECOND = 10
SAMPLES = 131072
SAMPLE_RATE = 32768.0
SETTLING_STROKES = 12
TOWERS = {
    "Saint Giles": 196.0,
    "Corn Hall": 220.0,
    "Weavers' Gate": 261.6,
    "Old Mint": 293.7,
    "Bridge Tower": 349.2,
}
PARTIALS = ((0.5, 0.6, 0.4), (1.0, 1.0, 0.9), (1.2, 0.7, 1.3), (1.5, 0.4, 1.8), (2.0, 0.8, 2.4))


class Tower:
    def __init__(self, name, strike_note):
        self.name = name
        self.strike_note = strike_note
        self.force = 1.0
        self.target_hum = 0.12

    def correct(self, hum_level):
        self.force += 0.05 * (self.target_hum - hum_level)
        self.force = min(max(self.force, 0.4), 1.6)


class SoundField:
    """Sum of decaying partials, with a little air noise."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.time_axis = torch.arange(SAMPLES, device=DEVICE, dtype=torch.float32) / SAMPLE_RATE

    def ring(self, tower):
        wave = torch.randn(SAMPLES, generator=self.generator, device=DEVICE)
        wave.mul_(0.01)
        for ratio, level, decay in PARTIALS:
            tone = torch.sin(self.time_axis * (2.0 * math.pi * tower.strike_note * ratio))
            wave.add_(tone * torch.exp(-decay * self.time_axis), alpha=level * tower.force)
        return wave


class StrikingPlant:
    def __init__(self, towers, field):
        self.towers = towers
        self.field = field
        self.stroke = 0
        self.corrections = 0
        self.street_level = 0.0
        self._second_looks = []

    def strike(self):
        tower = self.towers[self.stroke % len(self.towers)]
        wave = self.field.ring(tower)
        self.street_level += 0.1 * (float(wave[:8192].abs().mean()) - self.street_level)
        self.plan_second_look(tower, wave)
        self.run_due()
        self.stroke += 1

    def plan_second_look(self, tower, wave):
        def settle():
            hum = float(wave[-16384:].abs().mean())
            tower.correct(hum)
            self.corrections += 1

        self._second_looks.append((self.stroke + SETTLING_STROKES, settle))

    def run_due(self):
        for due, look in self._second_looks:
            if due == self.stroke:
                look()
        self._second_looks = [entry for entry in self._second_looks if entry[0] > self.stroke]


def report(plant):
    forces = ", ".join(f"{tower.name} {tower.force:.2f}" for tower in plant.towers)
    print(f"stroke {plant.stroke}: street level {plant.street_level:.3f}, hammer forces {forces}", flush=True)


def main():
    towers = [Tower(name, note) for name, note in TOWERS.items()]
    plant = StrikingPlant(towers, SoundField(seed=1723))
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        plant.strike()
        if plant.stroke % (STROKES_PER_SECOND * 4) == 0:
            report(plant)
        pause = start + plant.stroke / STROKES_PER_SECOND - time.monotonic()
        if pause > 0:
            time.sleep(pause)
    print(f"plant at rest after {plant.stroke} strokes and {plant.corrections} corrections", flush=True)


if __name__ == "__main__":
    main()
