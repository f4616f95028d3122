"""The sound effects of a radio play, mixed live.

The effects desk of a studio plays thunder, rain on tin, hooves and doors under the voices of a radio play. Each cue
is rendered once on the device, with its room, and then rings on through the mix block by block until it has died
away. The mix is limited, and its loudness is shown to the engineer.

ticket: practice
class: app-leak
holder: _ringing
cause: closure-kept
"""
import math
import os
import random
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
RATE = 44_100
BLOCKS_A_SECOND = 10
BLOCK = RATE // BLOCKS_A_SECOND
LONGEST = 3.0

EFFECTS = {
    "thunder": (3.0, 60.0, 1.1),
    "rain on tin": (2.5, 3200.0, 0.5),
    "hooves": (2.0, 420.0, 0.8),
    "oak door": (2.4, 140.0, 0.9),
    "gravel steps": (2.8, 1900.0, 0.6),
}


class SoundShop:
    """Renders effects: a burst of noise and a tone, spread over the two sides of the room."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.clock = torch.arange(int(LONGEST * RATE), device=DEVICE, dtype=torch.float32) / RATE
        self.room = torch.rand(2, int(LONGEST * RATE), device=DEVICE, generator=self.generator)

    def render(self, name, level):
        seconds, pitch, decay = EFFECTS[name]
        count = int(seconds * RATE)
        clock = self.clock[:count]
        noise = torch.randn(2, count, device=DEVICE, generator=self.generator)
        tone = torch.sin(2.0 * math.pi * pitch * clock)
        envelope = torch.exp(-clock / decay) * (1.0 - torch.exp(-clock * 200.0))
        return level * envelope * (0.4 * noise + 0.6 * tone) * (0.5 + self.room[:, :count])  # grows


def start_cue(sound):
    """A function that hands out the next block of the sound at each call, and None once it has died away."""
    place = 0

    def next_block():
        nonlocal place
        if place >= sound.shape[1]:
            return None
        block = sound[:, place:place + BLOCK]
        place += BLOCK
        return block

    return next_block


class EffectsDesk:
    def __init__(self, shop):
        self.shop = shop
        self._ringing = []
        self.played = 0
        self.gain = 1.0

    def cue(self, name, level):
        sound = self.shop.render(name, level)
        self._ringing.append(start_cue(sound))  # keeps
        self.played += 1

    def mix(self, voices):
        """Lays one block of all that rings under the voices, and limits it."""
        mixed = voices.clone()
        sounding = []
        for cue in self._ringing:
            block = cue()
            if block is None:
                continue
            mixed[:, :block.shape[1]] += block
            sounding.append(cue)
        peak = float(mixed.abs().amax())
        wanted = 0.9 / peak if peak > 0.9 else 1.0
        self.gain = min(wanted, 0.7 * self.gain + 0.3 * wanted)
        return mixed * self.gain, len(sounding)


class Script:
    """Says which effects come with which block of the play, and what the voices do."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.names = list(EFFECTS)
        self.voices = 0.1 * torch.randn(40, 2, BLOCK, generator=torch.Generator().manual_seed(seed)).to(DEVICE)

    def block(self, number):
        cues = []
        if number % 2 == 0:
            cues.append((self.rng.choice(self.names), self.rng.uniform(0.1, 0.5)))
        if number % 15 == 0:
            cues.append(("thunder", self.rng.uniform(0.5, 0.9)))
        return self.voices[number % self.voices.shape[0]], cues


def main():
    desk = EffectsDesk(SoundShop(seed=19))
    script = Script(seed=20)
    number = 0
    begun = time.monotonic()
    told = begun
    while time.monotonic() - begun < SECONDS:
        round_begun = time.monotonic()
        voices, cues = script.block(number)
        for name, level in cues:
            desk.cue(name, level)
        mixed, sounding = desk.mix(voices)
        number += 1
        if round_begun - told > 2.0:
            told = round_begun
            loudness = 10.0 * math.log10(float(mixed.square().mean()) + 1e-9)
            print(f"block {number}: {sounding} effects sounding, {loudness:.1f} dB, gain {desk.gain:.2f}", flush=True)
        time.sleep(max(0.01, 1.0 / BLOCKS_A_SECOND - (time.monotonic() - round_begun)))
    print(f"done: {number} blocks on the air, {desk.played} effects played", flush=True)


if __name__ == "__main__":
    main()
