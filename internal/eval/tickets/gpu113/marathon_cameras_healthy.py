"""Cameras at the finish line of a marathon.

Runners come in by starting waves. While a wave is expected, its gallery of faces is compared with the crops that the
camera sends, so that every finisher can later find his picture. The camera also collects a reel of whole frames for
the broadcast; a reel is graded and handed over when it is full.

ticket: practice
class: none
"""
import os
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 10
WAVE_EVERY = 5
WAVE_ROUNDS = 10
GALLERY = 384
FEATURES = 1024
REEL_FRAMES = 60
FRAME = (1280, 1024)

torch.set_num_threads(1)


class Crop:
    """The face of one finisher, as features, with the number of the wave on the bib."""

    def __init__(self, wave, features):
        self.wave = wave
        self.features = features


class FinishCamera:
    """Sends crops to those who watch, and collects the reel."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE)
        self.generator.manual_seed(seed)
        self.light = torch.linspace(0.7, 1.0, FRAME[1], device=DEVICE)
        self._watchers = []
        self.reel = []

    def watch(self, watcher):
        self._watchers.append(watcher)

    def unwatch(self, watcher):
        self._watchers.remove(watcher)

    def expose(self):
        frame = torch.rand(FRAME, generator=self.generator, device=DEVICE)
        self.reel.append(frame.mul_(self.light))

    def hand_over_reel(self):
        brightness = float(torch.stack([frame.mean() for frame in self.reel]).mean())
        self.reel.clear()
        return brightness

    def crop(self, wave):
        crop = Crop(wave, torch.randn(FEATURES, generator=self.generator, device=DEVICE))
        for watcher in list(self._watchers):
            watcher(crop)


class Wave:
    """A starting wave with the gallery of its runners."""

    def __init__(self, number, generator):
        self.number = number
        self.rounds_left = WAVE_ROUNDS
        self.gallery = torch.randn(GALLERY, FEATURES, generator=generator, device=DEVICE)
        self.gallery.div_(self.gallery.norm(dim=1, keepdim=True))
        self.matches = 0

    def on_crop(self, crop):
        if crop.wave != self.number:
            return
        likeness = self.gallery @ (crop.features / crop.features.norm())
        if float(likeness.max()) > 0.08:
            self.matches += 1


class FinishLine:
    """Opens and closes the waves and keeps the score of pictures."""

    def __init__(self, camera, seed):
        self.camera = camera
        self.generator = torch.Generator(device=DEVICE)
        self.generator.manual_seed(seed)
        self.expected = []
        self.opened = 0
        self.pictures = 0

    def open_wave(self):
        self.opened += 1
        wave = Wave(self.opened, self.generator)
        self.expected.append(wave)
        self.camera.watch(wave.on_crop)

    def close_waves(self):
        for wave in [wave for wave in self.expected if wave.rounds_left <= 0]:
            self.expected.remove(wave)
            self.pictures += wave.matches
            self.camera.unwatch(wave.on_crop)

    def round(self):
        self.camera.expose()
        for wave in self.expected:
            self.camera.crop(wave.number)
            wave.rounds_left -= 1
        self.close_waves()


def main():
    camera = FinishCamera(seed=26)
    line = FinishLine(camera, seed=385)
    started = time.monotonic()
    next_report = started + 3.0
    rounds = reels = 0
    brightness = 0.0
    while time.monotonic() - started < SECONDS:
        began = time.monotonic()
        if rounds % WAVE_EVERY == 0:
            line.open_wave()
        line.round()
        rounds += 1
        if len(camera.reel) >= REEL_FRAMES:
            brightness = camera.hand_over_reel()
            reels += 1
        if began >= next_report:
            print(
                f"wave {line.opened:3d}  pictures {line.pictures:5d}  reels {reels}  "
                f"light {brightness:.3f}",
                flush=True,
            )
            next_report += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"finish closed: {line.opened} waves, {line.pictures} pictures, {reels} reels", flush=True)


if __name__ == "__main__":
    main()
