"""Detection of ice on the haul rope of a cable car from the vibration of its towers.

Accelerometers on the towers deliver blocks of vibration. The energy of the latest seconds is compared with
that of the block at hand, for rime shifts the tone of the rope. From time to time a sweep over a fine bank
of tones is held against the vibration for a while, and tells how thick the ice is. The rope is run warm
when both agree.

ticket: practice
class: app-leak
holder: blocks
cause: buffer-without-bound
"""
import math
import os
import time
from collections import deque

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 8
TOWERS = 48
SAMPLES = 4096
HISTORY_SPAN = 3.0
SWEEP_CYCLE = 48
SWEEP_FIRST = 16
SWEEP_ROUNDS = 12
TONES = 2400
SWEEP_SAMPLES = 16384


class Towers:
    """Vibration of the towers: the tone of the rope, lowered by ice, under noise of the wind."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.clock = torch.arange(SAMPLES, device=DEVICE, dtype=torch.float32) / SAMPLES
        self.ice = 0.0
        self.recorded = 0

    def record(self):
        self.recorded += 1
        self.ice = max(0.0, self.ice + 0.01 * math.sin(self.recorded / 70.0))
        block = torch.randn(TOWERS, SAMPLES, generator=self.generator, device=DEVICE)  # grows
        block.add_(torch.sin(2.0 * math.pi * (90.0 - 12.0 * self.ice) * self.clock))
        return block


class VibrationHistory:
    """Blocks of the last seconds, each with the time of its recording."""

    def __init__(self, span):
        self.span = span
        self.blocks = deque()

    def add(self, now, block):
        self.blocks.append((now, block))  # keeps
        while self.blocks and now - self.blocks[-1][0] > self.span:
            self.blocks.popleft()

    def recent_energy(self, now):
        energies = []
        for stamp, block in reversed(self.blocks):
            if now - stamp > self.span:
                break
            energies.append(block[:, ::16].square().mean())
        return float(torch.stack(energies).mean())


class ToneSweep:
    """Fine bank of tones that is laid out for a sweep and put away afterwards."""

    def __init__(self):
        self.tones = torch.linspace(60.0, 100.0, TONES, device=DEVICE)
        self.clock = torch.arange(SWEEP_SAMPLES, device=DEVICE, dtype=torch.float32) / SAMPLES
        self.bank = None
        self.response = torch.zeros(TONES, device=DEVICE)

    def lay_out(self):
        self.bank = torch.outer(self.tones, self.clock).mul_(2.0 * math.pi).sin_()
        self.response.zero_()

    def listen(self, block):
        trace = block[:4].reshape(-1)
        self.response.add_(torch.mv(self.bank, trace).abs_())

    def put_away(self):
        self.bank = None
        return float(self.tones[int(self.response.argmax())])


class IceWatch:
    """Brings history and sweep together and runs the rope warm when it is iced."""

    def __init__(self, towers):
        self.towers = towers
        self.history = VibrationHistory(HISTORY_SPAN)
        self.sweep = ToneSweep()
        self.tone = 90.0
        self.warm_runs = 0
        self.ratio = 1.0

    def step(self, round_number, now):
        block = self.towers.record()
        self.history.add(now, block)
        self.ratio = float(block.square().mean()) / self.history.recent_energy(now)
        place = round_number % SWEEP_CYCLE
        if place == SWEEP_FIRST:
            self.sweep.lay_out()
        if SWEEP_FIRST <= place < SWEEP_FIRST + SWEEP_ROUNDS:
            self.sweep.listen(block)
        if place == SWEEP_FIRST + SWEEP_ROUNDS:
            self.tone = self.sweep.put_away()
            if self.tone < 86.0:
                self.warm_runs += 1
                self.towers.ice *= 0.2


def main():
    torch.set_num_threads(1)
    watch = IceWatch(Towers(seed=31))
    started = time.monotonic()
    rounds = 0
    while time.monotonic() - started < SECONDS:
        watch.step(rounds, time.monotonic() - started)
        rounds += 1
        if rounds % (2 * ROUNDS_PER_SECOND) == 0:
            print(f"round {rounds:5d}  tone {watch.tone:.2f} Hz  energy ratio {watch.ratio:.3f}  "
                  f"warm runs {watch.warm_runs}", flush=True)
        due = started + rounds / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"ice watch ended after {rounds} rounds, {watch.warm_runs} warm runs", flush=True)


if __name__ == "__main__":
    main()
