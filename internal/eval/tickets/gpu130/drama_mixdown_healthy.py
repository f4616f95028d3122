"""Mixing desk for a radio play.

The tracks of a scene (narrator, dialogue, rain, footsteps) lie on the device as stereo sound. The sound
engineer trims, fades and pans them, and takes a step back when an edit sounds wrong. After a dozen edits the
scene is wrapped: the tracks are mixed down, measured for loudness, and the next scene is loaded.

ticket: practice
class: none
"""
import os
import time

import numpy as np
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SAMPLES = 184_320
EDITS_PER_SECOND = 4
EDITS_PER_SCENE = 12
TRACKS = ("narrator", "dialogue", "rain", "footsteps")


class SoundArchive:
    """Recorded material, here made of shaped noise."""

    def __init__(self, seed):
        self._generator = torch.Generator().manual_seed(seed)

    def load(self, name):
        noise = torch.randn(2, SAMPLES, generator=self._generator)
        width = 4 + 3 * TRACKS.index(name)
        smooth = torch.nn.functional.avg_pool1d(noise[None], width, stride=1, padding=width // 2)[0]
        return (0.3 * smooth[:, :SAMPLES]).contiguous().to(DEVICE)


class Desk:
    """Edits on the tracks of one scene, with steps back and forward."""

    def __init__(self, archive):
        self.archive = archive
        self.tracks = {}
        self._undo = []
        self._redo = []
        self.scene = 0
        self.master = torch.zeros(2, SAMPLES, device=DEVICE)
        self.open_scene()

    def open_scene(self):
        self.scene += 1
        for name in TRACKS:
            self.tracks[name] = self.archive.load(name)
        self._undo.clear()
        self._redo.clear()

    def apply(self, name, effect):
        track = self.tracks[name]
        before = track.clone()

        def step_back():
            self.tracks[name].copy_(before)
            return name, effect

        effect(track)
        self._undo.append(step_back)
        self._redo.clear()

    def undo(self):
        if self._undo:
            self._redo.append(self._undo.pop()())

    def redo(self):
        if self._redo:
            name, effect = self._redo.pop()
            self.apply(name, effect)

    def wrap(self):
        self.master.zero_()
        for track in self.tracks.values():
            self.master.add_(track)
        self.master.clamp_(-1.0, 1.0)
        loudness = 20.0 * float(torch.log10(self.master.square().mean().sqrt() + 1e-6))
        self.open_scene()
        return loudness


def trim(gain):
    def effect(track):
        track.mul_(gain)
    return effect


def fade(start, length):
    def effect(track):
        track[:, start:start + length].mul_(torch.linspace(1.0, 0.2, length, device=DEVICE))
    return effect


def pan(place):
    def effect(track):
        track[0].mul_(1.0 - max(0.0, place))
        track[1].mul_(1.0 + min(0.0, place))
    return effect


def choose_effect(rng):
    kind = rng.integers(3)
    if kind == 0:
        return trim(float(rng.uniform(0.7, 1.3)))
    if kind == 1:
        return fade(int(rng.integers(0, SAMPLES // 2)), SAMPLES // 4)
    return pan(float(rng.uniform(-0.6, 0.6)))


def main():
    torch.set_num_threads(1)
    rng = np.random.default_rng(1938)
    desk = Desk(SoundArchive(seed=1939))
    started = time.monotonic()
    said = started
    edits = 0
    loudness = -60.0
    while time.monotonic() - started < SECONDS:
        desk.apply(TRACKS[int(rng.integers(len(TRACKS)))], choose_effect(rng))
        edits += 1
        if edits % 5 == 0:
            desk.undo()
            if rng.random() < 0.5:
                desk.redo()
        if edits % EDITS_PER_SCENE == 0:
            loudness = desk.wrap()
        if time.monotonic() - said >= 3.0:
            said = time.monotonic()
            print(f"scene {desk.scene}: {edits} edits, last mix {loudness:.1f} dB", flush=True)
        time.sleep(1.0 / EDITS_PER_SECOND)
    print(f"play mixed: {desk.scene} scenes, {edits} edits", flush=True)


if __name__ == "__main__":
    main()
