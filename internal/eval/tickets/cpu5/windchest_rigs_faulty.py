"""Listening to the windchests of a new organ, chest by chest.

In the erecting room one chest after the other is put on wind, and on each a rig of microphones
is set up that hears all its pipes at once. A rig has a thread of its own, which takes the blocks
of sound from an inbox, lays them into a ring of the last second and follows the strength of a few
tones, so that ciphers (pipes that sound although no key is down) and wind noise are found. When
all blocks of a chest are played, the rig's findings go to the wall and the next chest is put up.

ticket: practice
class: host-growth
holder: _active _target Rig
cause: threads-left
"""
import math
import os
import queue
import threading
import time

import torch

RATE = 16_000
BLOCK = 3_200
MICROPHONES = 96
BLOCKS_PER_CHEST = 6
BLOCK_SECONDS = 0.2
TONES = (65.4, 130.8, 196.0, 261.6, 523.3)


class Wall:
    """The sheet on the wall of the erecting room: the last findings and some totals."""

    def __init__(self, lines=8):
        self.lock = threading.Lock()
        self.lines = lines
        self.sheet = []
        self.ciphers = 0

    def pin(self, text, ciphers):
        with self.lock:
            self.sheet = (self.sheet + [text])[-self.lines:]
            self.ciphers += ciphers

    def latest(self):
        with self.lock:
            return self.sheet[-1] if self.sheet else "nothing yet"


class Rig:
    def __init__(self, chest, wall):
        self.chest = chest
        self.wall = wall
        self.inbox = queue.Queue(maxsize=4)
        self.ring = torch.full((MICROPHONES, 5 * BLOCK), 1e-6)  # grows
        self.strength = torch.zeros(MICROPHONES, len(TONES))
        angle = 2 * math.pi * torch.arange(BLOCK) / RATE
        self.probes = torch.stack([torch.polar(torch.ones(BLOCK), tone * angle) for tone in TONES])
        self.heard = 0
        self.thread = threading.Thread(target=self.listen, name=f"rig-{chest}", daemon=True)  # keeps

    def start(self):
        self.thread.start()  # keeps
        return self

    def listen(self):
        while True:
            block = self.inbox.get()
            if block is None:
                break
            self.lay_in(block)
            self.follow(block)
            if self.heard == BLOCKS_PER_CHEST:
                self.post()

    def lay_in(self, block):
        place = (self.heard % 5) * BLOCK
        self.ring[:, place:place + BLOCK] = block
        self.heard += 1

    def follow(self, block):
        for column, probe in enumerate(self.probes):
            real = (block * probe.real).mean(dim=1)
            imaginary = (block * probe.imag).mean(dim=1)
            now = torch.hypot(real, imaginary)
            self.strength[:, column] = 0.7 * self.strength[:, column] + 0.3 * now

    def post(self):
        loud = (self.strength > 0.08).sum(dim=0).tolist()
        noise = float(self.ring.std())
        text = ", ".join(f"{tone:.0f} Hz x{count}" for tone, count in zip(TONES, loud) if count)
        self.wall.pin(f"chest {self.chest}: noise {noise:.3f}, {text or 'silent'}", sum(loud))

    def hand_over(self, block):
        self.inbox.put(block)

    def take_down(self):
        """Waits until the inbox is worked off."""
        while not self.inbox.empty():
            time.sleep(0.01)


class WindSupply:
    """Simulated sound of a chest: wind noise, and the tone of a cipher on some microphones."""

    def __init__(self, seed):
        self.source = torch.Generator().manual_seed(seed)
        self.time = torch.arange(BLOCK) / RATE

    def blocks(self, chest):
        tone = TONES[chest % len(TONES)]
        near = torch.rand(MICROPHONES, 1, generator=self.source) ** 4
        for number in range(BLOCKS_PER_CHEST):
            swell = 0.5 + 0.5 * math.sin(number)
            noise = 0.05 * torch.randn(MICROPHONES, BLOCK, generator=self.source)
            yield noise + swell * near * torch.sin(2 * math.pi * tone * self.time)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    wall, supply = Wall(), WindSupply(seed=17)
    chest = 0
    while time.time() < end:
        chest += 1
        rig = Rig(chest, wall).start()
        for block in supply.blocks(chest):
            rig.hand_over(block)
            time.sleep(BLOCK_SECONDS)
        rig.take_down()
        if chest % 3 == 0:
            print(f"{wall.latest()}; {wall.ciphers} loud tones so far", flush=True)


if __name__ == "__main__":
    main()
