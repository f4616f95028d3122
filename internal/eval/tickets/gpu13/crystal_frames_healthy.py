"""Crystals grow in a cooled melt, by a phase field on the device. Frames go to an archive at the end of a slow line; a
pool of one thread packs and sends them. No more than a few may wait, and a frame that comes while they do is left
out.

ticket: glencoesoftware/isyntax2raw#5
class: none
"""

import concurrent.futures
import os
import random
import tempfile
import threading
import time
import zlib

import numpy as np
import torch

SIZE, LINE = 512, 900_000


class Melt:
    """Kobayashi's model, without the finer points: how solid it is, and how warm."""

    def __init__(self, device, seeds=6):
        self.solid = torch.zeros(SIZE, SIZE, device=device)
        self.warm = torch.zeros(SIZE, SIZE, device=device)
        for _ in range(seeds):
            y, x = random.randrange(8, SIZE - 8), random.randrange(8, SIZE - 8)
            self.solid[y - 4:y + 4, x - 4:x + 4] = 1

    @staticmethod
    def around(field):
        return sum(torch.roll(field, by, axis) for by in (-1, 1) for axis in (0, 1)) - 4 * field

    def step(self):
        drive = 0.9 / torch.pi * torch.atan(10 * (1 - self.warm))
        noise = 0.01 * (torch.rand_like(self.solid) - 0.5)
        change = self.solid * (1 - self.solid) * (self.solid - 0.5 + drive + noise) + 0.1 * self.around(self.solid)
        self.solid = self.solid + 0.5 * change
        self.warm = self.warm + 0.2 * self.around(self.warm) + 0.6 * change

    def share(self):
        return float((self.solid > 0.5).float().mean())


class Archive:
    """Packs frames and sends them off, on a thread of its own."""

    def __init__(self, folder):
        self.file, self.sent, self.frames = open(os.path.join(folder, "frames.bin"), "wb"), 0, 0
        self.pool = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="archive")
        self.over, self.room = threading.Event(), threading.Semaphore(4)

    def send(self, number, frame):
        scaled = np.clip(frame * 255, 0, 255).astype(np.uint8)
        rows = np.diff(scaled, axis=0, prepend=np.zeros((1, SIZE), np.uint8))
        packed = zlib.compress(rows.tobytes(), 6)
        self.file.seek(0)
        self.file.write(packed)
        self.sent += len(packed)
        self.frames += 1
        self.over.wait((len(packed) + frame.nbytes / 8) / LINE + random.uniform(0.2, 0.5))

    def put(self, number, frame):
        if self.room.acquire(blocking=False):
            self.pool.submit(self.send, number, frame).add_done_callback(lambda _: self.room.release())

    def close(self):
        self.over.set()
        self.pool.shutdown(cancel_futures=True)
        self.file.close()


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with tempfile.TemporaryDirectory() as folder:
        archive, melt, number = Archive(folder), Melt(device), 0
        while time.time() < end:
            for _ in range(random.randint(4, 10)):
                melt.step()
            frame = torch.stack((melt.solid, melt.warm)).mean(0).cpu().numpy().copy()
            archive.put(number, frame)
            number += 1
            if number % 20 == 0:
                print("frames", number, "sent", archive.frames, "bytes", archive.sent, "solid", round(melt.share(), 3),
                      flush=True)
            if melt.share() > 0.9:
                melt = Melt(device)
            time.sleep(random.uniform(0.05, 0.15))
        archive.close()


if __name__ == "__main__":
    main()
