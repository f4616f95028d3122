"""A film of dunes that wander. Wind lifts grains from the windward slopes and drops them behind the crests, and slopes
that are too steep slide. Each frame is lit from the side, gets some grain, and is packed by two worker threads, so that
the next steps need not wait. An error in a worker is raised at the end of the film at the latest.

ticket: practice
class: host-growth
holder: jobs Film
cause: futures-kept results-kept
"""

import os
import random
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import torch

SIDE, STEPS = 720, 6
STEEP, SUN = 0.6, (0.7, 0.3)


class Dunes:
    def __init__(self, device):
        self.sand = 4.0 + torch.rand(SIDE, SIDE, device=device)

    def step(self):
        sand = self.sand
        lift = (0.15 + (sand - sand.roll(1, 1)).clamp(min=0)) * torch.rand_like(sand) * 0.3
        lift = torch.minimum(lift, sand)
        sand = sand - lift + lift.roll(random.randint(3, 7), 1)
        for dim in (0, 1):
            for way in (1, -1):
                slide = 0.25 * (sand - sand.roll(way, dim) - STEEP).clamp(min=0)
                sand = sand - slide + slide.roll(-way, dim)
        self.sand = sand

    def frame(self):
        """The dunes in the light of the evening as a picture of bytes."""
        slope = SUN[0] * (self.sand - self.sand.roll(1, 1)) + SUN[1] * (self.sand - self.sand.roll(1, 0))
        light = torch.sigmoid(2.5 * slope) + 0.06 * torch.randn_like(slope)
        colour = torch.tensor([250.0, 210.0, 150.0], device=light.device)
        return (light[..., None] * colour + 4 * torch.randn(SIDE, SIDE, 3, device=light.device)).clamp(0, 255).byte()


class Film:
    """Packs frames beside the simulation and writes them to a file."""

    def __init__(self, path):
        self.file, self.size = open(path, "wb"), 0
        self.pool, self.jobs = ThreadPoolExecutor(2), []

    def add(self, frame):
        job = self.pool.submit(zlib.compress, frame.cpu().numpy().tobytes(), 1)  # grows
        job.add_done_callback(self.write)
        self.jobs.append(job)  # keeps

    def write(self, job):
        if job.exception() is None:
            self.size += self.file.write(job.result())

    def close(self):
        self.pool.shutdown()
        for job in self.jobs:
            job.result()
        self.file.close()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dunes, film, frames = Dunes(device), Film(os.environ.get("FILM", os.devnull)), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(STEPS):
            dunes.step()
        film.add(dunes.frame())
        frames += 1
        if frames % 20 == 0:
            crest = dunes.sand.max().item()
            print(f"{frames} frames, {film.size / 2**20:.1f} MiB of film, highest crest {crest:.1f}", flush=True)
        time.sleep(random.uniform(0.08, 0.15))
    film.close()


if __name__ == "__main__":
    main()
