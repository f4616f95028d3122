"""Playback of a star show in a planetarium.

A pool of two workers renders the frames of the dome some way ahead of the playhead: the catalogue is turned to
the sidereal time of the frame, projected as a fisheye and splatted on the dome master. The playhead takes the
frame that is due, and holds the last picture when the frame is late. Behind the playhead a few frames stay at
hand for the operator, who may jog back.

ticket: practice
class: none
"""
import math
import os
import time
from concurrent.futures import ThreadPoolExecutor

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
FRAMES_PER_SECOND = 10
AHEAD = 8
JOG = 12
DOME = 229
STARS = 12_000


class Catalogue:
    """Unit vectors, magnitudes and colours of the stars."""

    def __init__(self, seed=1781):
        rng = torch.Generator().manual_seed(seed)
        v = torch.randn(STARS, 3, generator=rng)
        self.vectors = (v / v.norm(dim=1, keepdim=True)).to(DEVICE)
        flux = torch.rand(STARS, 1, generator=rng).pow(6)
        tint = 0.7 + 0.3 * torch.rand(STARS, 3, generator=rng)
        self.light = (flux * tint).to(DEVICE)


class DomeRenderer:
    def __init__(self, catalogue, latitude=52.0):
        self.catalogue = catalogue
        self.tilt = math.radians(90.0 - latitude)

    def rotation(self, sidereal):
        c, s = math.cos(sidereal), math.sin(sidereal)
        ct, st = math.cos(self.tilt), math.sin(self.tilt)
        spin = torch.tensor([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        lean = torch.tensor([[1.0, 0.0, 0.0], [0.0, ct, -st], [0.0, st, ct]])
        return (lean @ spin).to(DEVICE)

    @torch.no_grad()
    def render(self, frame):
        turned = self.catalogue.vectors @ self.rotation(frame * 0.002).T
        zenith = torch.acos(turned[:, 2].clamp(-1.0, 1.0)) / (math.pi / 2)
        azimuth = torch.atan2(turned[:, 1], turned[:, 0])
        up = (zenith < 1.0).float().unsqueeze(1)
        x = ((zenith * torch.cos(azimuth)).clamp(-1, 1) + 1) * (DOME - 1) / 2
        y = ((zenith * torch.sin(azimuth)).clamp(-1, 1) + 1) * (DOME - 1) / 2
        cell = y.long() * DOME + x.long()
        master = torch.zeros(DOME * DOME, 3, device=DEVICE)
        master.index_add_(0, cell, self.catalogue.light * up)
        return master.clamp_(0.0, 1.0).view(DOME, DOME, 3)


class ShowPlayer:
    def __init__(self, renderer):
        self.renderer = renderer
        self.pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="dome")
        self._renders = {}
        self.requested = 0
        self.late = 0
        self.picture = torch.zeros(DOME, DOME, 3, device=DEVICE)

    def request_until(self, last):
        while self.requested <= last:
            self._renders[self.requested] = self.pool.submit(self.renderer.render, self.requested)
            self.requested += 1

    def present(self, frame):
        """Brings the frame to the projectors and returns its mean brightness."""
        self.request_until(frame + AHEAD)
        render = self._renders[frame]
        if render.done():
            self.picture = render.result()
        else:
            self.late += 1
        self.retire(frame - JOG)
        return self.picture.mean().item()

    def retire(self, oldest):
        for frame, render in list(self._renders.items()):
            if frame < oldest and (render.cancel() or render.done()):
                del self._renders[frame]

    def jog_back(self, frame):
        """The picture a few frames ago, if the operator asks for it."""
        render = self._renders.get(frame - JOG // 2)
        return None if render is None or not render.done() else render.result()

    def close(self):
        self.pool.shutdown(wait=True)


def main():
    player = ShowPlayer(DomeRenderer(Catalogue()))
    started = time.monotonic()
    due = started
    frame = 0
    while time.monotonic() - started < SECONDS:
        brightness = player.present(frame)
        if frame % 30 == 20:
            back = player.jog_back(frame)
            change = 0.0 if back is None else (player.picture - back).abs().mean().item()
            print(f"frame {frame}: brightness {brightness:.5f}, change {change:.5f}, late {player.late}", flush=True)
        frame += 1
        due += 1.0 / FRAMES_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    player.close()
    print(f"show over after {frame} frames, {player.late} late", flush=True)


if __name__ == "__main__":
    main()
