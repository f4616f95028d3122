"""Live ambience for radio plays.

Behind the voices of a radio play lies an ambience: a crowd, a harbour, a storm. The studio renders it scene
by scene from a library of recorded beds, several layers at a time, each with a gain that moves slowly. Indoor
scenes are rendered with precedence, since the actors hear them in their headphones; outdoor scenes can wait.

ticket: practice
class: none
"""
import contextlib
import os
import time

import numpy as np
import torch

HAS_GPU = torch.cuda.is_available()
DEVICE = "cuda" if HAS_GPU else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
BLOCKS_PER_SECOND = 5
BLOCKS_PER_SCENE = 10
LAYERS = 16
SAMPLES = 196_608
BEDS = ("crowd", "harbour", "storm")
PRECEDENCE = {"indoor": -1, "outdoor": 0}


def new_stream(place):
    return torch.cuda.Stream(priority=PRECEDENCE[place]) if HAS_GPU else None


@contextlib.contextmanager
def rendering_on(stream):
    if stream is None:
        yield
        return
    with torch.cuda.stream(stream):
        yield
    stream.synchronize()


class BedLibrary:
    """Recorded layers of each ambience, loaded once."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self._beds = {}
        for name in BEDS:
            layers = torch.randn(LAYERS, SAMPLES, generator=generator)
            self._beds[name] = (0.1 * layers).to(DEVICE)

    def layers(self, name):
        return self._beds[name]


class Scene:
    """One scene of the play: where it is set and how its layers move."""

    def __init__(self, number, bed, place, stream, rng):
        self.number = number
        self.bed = bed
        self.place = place
        self.stream = stream
        self._phases = rng.uniform(0.0, 2.0 * np.pi, size=LAYERS)
        self._rates = rng.uniform(0.05, 0.4, size=LAYERS)

    def gains(self, block):
        moving = 0.6 + 0.4 * np.sin(self._phases + self._rates * block)
        if self.place == "indoor":
            moving *= 0.5
        return torch.tensor(moving, dtype=torch.float32)[:, None]


class Studio:
    """Opens the scenes and renders them block by block."""

    def __init__(self, library, rng):
        self.library = library
        self._rng = rng
        self._streams = {place: new_stream(place) for place in PRECEDENCE}
        self.scene = None
        self.opened = 0
        self.peak = 0.0

    def open_scene(self):
        place = "indoor" if self.opened % 2 else "outdoor"
        bed = BEDS[int(self._rng.integers(len(BEDS)))]
        self.opened += 1
        self.scene = Scene(self.opened, bed, place, self._streams[place], self._rng)

    def render(self, block):
        scene = self.scene
        with rendering_on(scene.stream):
            gains = scene.gains(block).to(DEVICE)
            layers = self.library.layers(scene.bed) * gains
            layers.clamp_(-0.4, 0.4)
            mix = layers.sum(dim=0)
            level = float(mix.abs_().max())
            del layers, mix
        self.peak = max(self.peak * 0.98, level)
        return level


def main():
    torch.set_num_threads(1)
    studio = Studio(BedLibrary(seed=1947), np.random.default_rng(1948))
    if HAS_GPU:
        torch.cuda.synchronize()
    started = time.monotonic()
    said = started
    blocks = 0
    while time.monotonic() - started < SECONDS:
        if blocks % BLOCKS_PER_SCENE == 0:
            studio.open_scene()
        level = studio.render(blocks)
        blocks += 1
        if time.monotonic() - said >= 3.0:
            said = time.monotonic()
            scene = studio.scene
            print(f"scene {scene.number} ({scene.place}, {scene.bed}): block {blocks}, "
                  f"level {level:.2f}, peak {studio.peak:.2f}", flush=True)
        time.sleep(1.0 / BLOCKS_PER_SECOND)
    print(f"broadcast over: {studio.opened} scenes, {blocks} blocks", flush=True)


if __name__ == "__main__":
    main()
