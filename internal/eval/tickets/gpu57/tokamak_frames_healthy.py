"""Turbulence at a tokamak edge is simulated with the vorticity equation, and its frames go to an archive. So that
the solver need not wait for the compression and the far store, a thread of its own takes the frames from a queue and
files them one by one. Every frame is filed.

ticket: practice
class: none
"""

import gzip
import os
import queue
import threading
import time

import numpy
import torch

SIDE, SUBSTEPS, STEP, VISCOSITY = 512, 4, 2e-3, 2e-4


class Archive(threading.Thread):
    """Files frames in the order in which they come."""

    def __init__(self):
        super().__init__(daemon=True)
        self.frames = queue.Queue(maxsize=8)
        self.filed = self.bytes = 0

    def add(self, number, frame):
        self.frames.put((number, frame))

    def run(self):
        while True:
            number, frame = self.frames.get()
            self.file(number, frame)

    def file(self, number, frame):
        packed = gzip.compress(frame.tobytes(), compresslevel=1)
        with open(os.devnull, "wb") as store:
            store.write(number.to_bytes(8, "big") + packed)
        time.sleep(0.25)  # the far store confirms
        self.filed += 1
        self.bytes += len(packed)


class Edge:
    """The vorticity on a periodic square, in Fourier space."""

    def __init__(self, device):
        numbers = torch.fft.fftfreq(SIDE, 1 / SIDE, device=device)
        self.x, self.y = numbers[: SIDE // 2 + 1][None].abs(), numbers[:, None]
        self.square = self.x ** 2 + self.y ** 2
        self.inverse = torch.where(self.square > 0, 1 / self.square.clamp(min=1), torch.zeros_like(self.square))
        self.kept = (self.x < SIDE / 3) & (self.y.abs() < SIDE / 3)
        start = torch.fft.rfft2(torch.randn(SIDE, SIDE, device=device))
        self.modes = 20 * start * torch.exp(-((self.square.sqrt() - 8) / 3) ** 2)

    def push(self):
        """The change of the vorticity: it is carried along, and it feels the gradient of the density."""
        stream = -self.modes * self.inverse
        fields = torch.stack([-1j * self.y * stream, 1j * self.x * stream, 1j * self.x * self.modes,
                              1j * self.y * self.modes])
        across, up, slope_x, slope_y = torch.fft.irfft2(fields, s=(SIDE, SIDE))
        carried = torch.fft.rfft2(across * slope_x + up * slope_y)
        return self.kept * (1j * self.y * stream - carried)

    def advance(self):
        decay = torch.exp(-VISCOSITY * STEP * self.square)
        for _ in range(SUBSTEPS):
            self.modes = decay * (self.modes + STEP * self.push())

    def frame(self):
        vorticity = torch.fft.irfft2(self.modes, s=(SIDE, SIDE))
        return vorticity.cpu().numpy().astype(numpy.float32)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    edge, archive, number = Edge(device), Archive(), 0
    archive.start()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        edge.advance()
        frame = edge.frame()
        archive.add(number, frame)
        number += 1
        if number % 20 == 0:
            print(f"frame {number}: vorticity {frame.std():.3f}, {archive.bytes / 1e6:.1f} MB filed", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
