"""Rehearsals of a brass band, analysed take by take.

The band plays in bursts of two seconds and rests for two. Within a burst the conductor starts one take after the
other; a balance meter follows the beats of its take and compares the sections, cornets to basses, by a spectrogram.
After the take the meter gives its verdict and the next take begins.

ticket: practice
class: app-leak
holder: _on_beat
cause: callbacks-left
"""
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 0.125
TAKES_IN_BURST = 16
REST = 2.0
BEATS = 8
BINS, FRAMES = 384, 1024
SECTIONS = ("cornets", "horns", "baritones", "trombones", "euphoniums", "basses")


class Conductor:
    """Gives the beat to whoever follows it."""

    def __init__(self):
        self._on_beat = []
        self.beats = 0

    def follow(self, callback):
        self._on_beat.append(callback)  # keeps

    def unfollow(self, callback):
        self._on_beat.remove(callback)

    def beat(self, sound):
        self.beats += 1
        for callback in list(self._on_beat):
            callback(sound)


class BalanceMeter:
    """The spectrogram of one take, beat by beat."""

    def __init__(self, conductor, take):
        self.conductor = conductor
        self.take = take
        self.spectrogram = torch.zeros(BINS, FRAMES, device=DEVICE)  # grows
        self.column = 0
        self.step = FRAMES // BEATS

    def start(self):
        self.conductor.follow(self.hear)

    def hear(self, sound):
        if self.column >= FRAMES:
            return
        self.spectrogram[:, self.column:self.column + self.step] = sound.unsqueeze(1)
        self.column += self.step

    def verdict(self):
        bands = self.spectrogram.view(len(SECTIONS), BINS // len(SECTIONS), FRAMES)
        levels = bands.square().mean(dim=(1, 2))
        return SECTIONS[int(levels.argmax())], float(levels.max() / levels.mean())

    def stop(self):
        self.column = FRAMES


class Band:
    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.tone = torch.linspace(1.0, 0.4, BINS, device=DEVICE)
        self.hall = torch.rand(64, BINS, BINS, generator=self.generator, device=DEVICE) / BINS

    def play(self, bar):
        breath = torch.rand(BINS, generator=self.generator, device=DEVICE)
        return self.tone * breath + self.hall[bar % 64] @ breath


def rehearse(band, conductor, take):
    meter = BalanceMeter(conductor, take)
    meter.start()
    for beat in range(BEATS):
        conductor.beat(band.play(take * BEATS + beat))
    loudest, ratio = meter.verdict()
    meter.stop()
    return loudest, ratio


def main():
    torch.set_num_threads(1)
    band = Band(seed=41)
    conductor = Conductor()
    loud = dict.fromkeys(SECTIONS, 0)
    start = time.monotonic()
    due = start
    take = 0
    while time.monotonic() - start < SECONDS:
        ratio = 0.0
        for _ in range(TAKES_IN_BURST):
            loudest, ratio = rehearse(band, conductor, take)
            loud[loudest] += 1
            take += 1
            due += ROUND
            time.sleep(max(0.0, due - time.monotonic()))
        often = max(loud, key=loud.get)
        print(f"{time.monotonic() - start:5.1f} s take {take} beats {conductor.beats} "
              f"loudest mostly {often}, last ratio {ratio:.2f}", flush=True)
        due += REST
        time.sleep(max(0.0, min(due, start + SECONDS) - time.monotonic()))
    print(f"rehearsal over: {take} takes, {conductor.beats} beats", flush=True)


if __name__ == "__main__":
    main()
