"""Mixing desk for the scenes of a radio drama, driven by the cues of a director.

The desk has four tracks: voices, steps, weather and music. The director asks for fades, echoes, ducking below the
voices and now and then takes the last cue back. Each cue works on a stretch of a track in place, so the desk notes how
to revert it; a rehearsal print of the sum is measured after every cue.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import torch

RATE = 24000
LENGTH = 20 * RATE
STRETCH = (4 * RATE, 6 * RATE)
CUES_PER_SECOND = 8
TRACKS = ("voices", "steps", "weather", "music")


def fade(part, amount):
    ramp = torch.linspace(1.0, amount, part.shape[1])
    part.mul_(ramp)


def echo(part, amount):
    delay = RATE // 5
    part[:, delay:] += 0.4 * amount * part[:, :-delay].clone()


def duck(part, amount):
    part.mul_(0.4 + 0.6 * amount)


def lift(part, amount):
    part.div_(part.abs().amax() + 1e-3).mul_(0.5 + 0.4 * amount)


EFFECTS = {"fade": fade, "echo": echo, "duck": duck, "lift": lift}


def raw_tracks(seed):
    """Stereo tracks, rendered second by second: a swelling tone of their own over a bed of noise."""
    generator = torch.Generator().manual_seed(seed)
    tracks = {name: torch.empty(2, LENGTH).normal_(0, 0.05, generator=generator) for name in TRACKS}
    for number, track in enumerate(tracks.values()):
        for second, piece in enumerate(track.split(RATE, dim=1)):
            at = second + torch.arange(RATE) / RATE
            piece += 0.3 * torch.sin(at * 6.28 * 110 * (number + 1)) * torch.sin(at * (0.5 + number)).abs()
    return tracks


class MixingDesk:
    """Tracks and the way back through the cues."""

    def __init__(self, tracks):
        self.tracks = tracks
        self.undo = deque(maxlen=20)
        self.applied = 0

    def apply(self, cue):
        track = self.tracks[cue["track"]]
        start, stop = cue["from"], cue["to"]
        before = track[:, start:stop].clone()

        def revert():
            track[:, start:stop] = before
            return cue["effect"]

        self.undo.append(revert)
        EFFECTS[cue["effect"]](track[:, start:stop], cue["amount"])
        self.applied += 1

    def take_back(self):
        return self.undo.pop()() if self.undo else None

    def print_sum(self, start, stop):
        """Peak and loudness of the sum over a stretch."""
        total = sum(track[:, start:stop] for track in self.tracks.values())
        return float(total.abs().max()), float(total.square().mean().sqrt())


def director(seed):
    """Cues, one after the other; a cue of None takes the last one back. Listens to the measured peak."""
    dice = torch.Generator().manual_seed(seed)
    peak = 0.0
    while True:
        roll = torch.rand(5, generator=dice).tolist()
        if roll[0] < 0.1:
            peak = yield None
            continue
        span = int(STRETCH[0] + roll[1] * (STRETCH[1] - STRETCH[0]))
        start = int(roll[2] * (LENGTH - span))
        effect = "duck" if peak > 1.5 else list(EFFECTS)[int(roll[3] * len(EFFECTS))]
        track = TRACKS[int(roll[4] * len(TRACKS))]
        peak = yield {"track": track, "effect": effect, "amount": roll[1], "from": start, "to": start + span}


def rehearse(desk, cues, end):
    cue, taken_back, told = next(cues), 0, time.monotonic()
    while time.time() < end:
        if cue is None:
            taken_back += desk.take_back() is not None
            peak, loudness = desk.print_sum(0, STRETCH[0])
        else:
            desk.apply(cue)
            peak, loudness = desk.print_sum(cue["from"], cue["to"])
        if time.monotonic() - told > 3:
            told = time.monotonic()
            print(f"cues {desk.applied}, taken back {taken_back}, peak {peak:.2f}, loudness {loudness:.3f}", flush=True)
        time.sleep(1.0 / CUES_PER_SECOND)
        cue = cues.send(peak)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    rehearse(MixingDesk(raw_tracks(seed=1938)), director(seed=30), end)


if __name__ == "__main__":
    main()
