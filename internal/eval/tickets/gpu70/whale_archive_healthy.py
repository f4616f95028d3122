"""The sound of a hydrophone in a bay goes into an archive as spectrograms. Each stretch is turned into decibels on the
device, and a thread of its own packs the spectrograms and puts them on tape, because the tape is slow. The listening
waits for it only when a few stretches lie ready. A detector says on the way whether a whale was there.

ticket: practice
class: none
"""

import math
import os
import queue
import random
import threading
import time
import zlib

import numpy as np
import torch
from torchaudio import transforms

RATE, SECONDS_EACH, TAPE = 16_000, 20, 1_200_000


class Bay:
    """Noise of the water, and sometimes a whale that slides down from a high tone."""

    def __init__(self, device):
        self.device = device
        self.times = torch.arange(RATE * SECONDS_EACH, device=device) / RATE

    def listen(self):
        sound = 0.02 * torch.randn_like(self.times)
        if random.random() < 0.4:
            start, high = random.uniform(0, 15), random.uniform(400, 900)
            since = (self.times - start).clamp(min=0)
            called = (since > 0) & (since < 4)
            sound += 0.1 * called * torch.sin(2 * math.pi * (high - 40 * since) * since)
        return sound


class Archive:
    def __init__(self):
        self.waiting = queue.Queue(maxsize=6)
        self.stored = self.bytes = 0
        threading.Thread(target=self.work, daemon=True).start()

    def put(self, moment, picture):
        self.waiting.put((moment, picture))

    def work(self):
        while True:
            moment, picture = self.waiting.get()
            packed = zlib.compress(np.clip(picture + 100, 0, 255).astype(np.uint8).tobytes(), 1)
            time.sleep(len(packed) / TAPE)
            self.stored += 1
            self.bytes += len(packed)


class Listener:
    def __init__(self, device):
        self.spectrogram = transforms.Spectrogram(n_fft=1024, hop_length=256).to(device)
        self.decibels = transforms.AmplitudeToDB(top_db=80).to(device)

    @torch.inference_mode()
    def look(self, sound):
        """The spectrogram, and how far the loudest low tone is above the rest."""
        picture = self.decibels(self.spectrogram(sound))
        low = picture[20:64]
        return picture.cpu().numpy(), (low.max() - low.median()).item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    bay, listener, archive = Bay(device), Listener(device), Archive()
    heard, whales = 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        picture, above = listener.look(bay.listen())
        archive.put(time.time(), picture)
        heard += 1
        whales += above > 20
        if heard % 20 == 0:
            print(f"{heard} stretches, {whales} with whales, {archive.bytes / 1e6:.1f} MB on tape", flush=True)
        time.sleep(0.12)


if __name__ == "__main__":
    main()
