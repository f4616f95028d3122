"""Yard watch of a tram depot.

Three cameras look along the shunting tracks and deliver frames. The watch takes them in turn, subtracts the empty
yard, and reports on which track something moves. Points are locked as long as a track is not clear.

ticket: practice
class: app-leak
holder: arrivals
cause: unbounded-queue
"""
import os
import queue
import threading
import time

import torch
from torch.nn import functional

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 5
FRAMES_A_ROUND = 2
CAMERAS = ("north fan", "washing plant", "south fan")
FRAMES_PER_SECOND = 6
ROWS, COLUMNS = 288, 512
TRACKS = 8


class Camera(threading.Thread):
    """Delivers frames of its part of the yard with trams that come and go."""

    def __init__(self, number, name, arrivals, closing):
        super().__init__(name=name, daemon=True)
        self.number = number
        self.arrivals = arrivals
        self.closing = closing
        self.generator = torch.Generator(device=DEVICE).manual_seed(100 + number)
        self.empty_yard = torch.rand(ROWS, COLUMNS, generator=self.generator, device=DEVICE) * 0.4
        self.delivered = 0

    def expose(self):
        frame = torch.randn(ROWS, COLUMNS, generator=self.generator, device=DEVICE)  # grows
        frame.mul_(0.02).add_(self.empty_yard)
        track = (self.delivered // 20 + self.number) % TRACKS
        top = track * (ROWS // TRACKS)
        left = (self.delivered * 11) % (COLUMNS - 90)
        frame[top + 6:top + 30, left:left + 90] += 0.5
        return frame

    def run(self):
        while not self.closing.is_set():
            frame = self.expose()
            self.arrivals.put((self.number, frame))  # keeps
            self.delivered += 1
            time.sleep(1 / FRAMES_PER_SECOND)


class YardWatch:
    """Compares frames with the empty yard and locks the points of tracks in use."""

    def __init__(self):
        self.closing = threading.Event()
        self.arrivals = queue.Queue()
        self.cameras = [
            Camera(number, name, self.arrivals, self.closing) for number, name in enumerate(CAMERAS)
        ]
        self.background = torch.stack([camera.empty_yard for camera in self.cameras])
        self.sightings = torch.zeros(len(CAMERAS), TRACKS, device=DEVICE)
        self.plans = torch.rand(40, ROWS, COLUMNS, device=DEVICE)
        self.watched = 0

    def open(self):
        for camera in self.cameras:
            camera.start()

    def look(self, number, frame):
        difference = (frame - self.background[number]).abs()
        smooth = functional.avg_pool2d(difference[None, None], 6)[0, 0]
        bands = smooth.reshape(TRACKS, -1, smooth.shape[1]).amax(dim=(1, 2))
        self.sightings[number].mul_(0.8).add_(bands, alpha=0.2)
        self.background[number].lerp_(frame, 0.002)
        self.watched += 1

    def round(self):
        for _ in range(FRAMES_A_ROUND):
            try:
                number, frame = self.arrivals.get_nowait()
            except queue.Empty:
                return
            self.look(number, frame)

    def locked(self):
        busy = (self.sightings > 0.2).any(dim=0).tolist()
        return [track + 1 for track, in_use in enumerate(busy) if in_use]

    def close(self):
        self.closing.set()
        while any(camera.is_alive() for camera in self.cameras):
            while not self.arrivals.empty():
                self.arrivals.get_nowait()
            time.sleep(0.02)


def main():
    torch.manual_seed(3)
    watch = YardWatch()
    watch.open()
    started = time.monotonic()
    number = 0
    while time.monotonic() - started < SECONDS:
        watch.round()
        if number % 15 == 14:
            print(f"round {number:4d}  watched {watch.watched:4d}  locked tracks {watch.locked()}", flush=True)
        number += 1
        time.sleep(1 / ROUNDS_PER_SECOND)
    watch.close()
    print(f"watch over after {watch.watched} frames, locked tracks {watch.locked()}", flush=True)


if __name__ == "__main__":
    main()
