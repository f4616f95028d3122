"""A service takes voice notes of several callers at a time, cleans them on the device, and writes each into a file at
its end. So that notes that are broken off get written too, a recording asks to be closed at the end of the program,
and takes that back when it is closed before.

ticket: practice
class: none
"""

import asyncio
import atexit
import os
import random
import shutil
import tempfile
import time
import wave

import numpy as np
import torch
from torch import nn

RATE, PIECE = 48000, 4800


class Recording:
    """The cleaned sound of a note, in the pieces in which it came."""

    def __init__(self, path):
        self.path, self.pieces, self.closed = path, [], False
        atexit.register(self.close)

    def add(self, sound):
        self.pieces.append((sound.clip(-1, 1) * 32767).astype(np.int16))

    def close(self):
        if self.closed:
            return
        self.closed = True
        atexit.unregister(self.close)
        with wave.open(self.path, "wb") as out:
            out.setnchannels(2)
            out.setsampwidth(2)
            out.setframerate(RATE)
            for piece in self.pieces:
                out.writeframes(piece.T.tobytes())


class Cleaner:
    """Takes the noise out of pieces by a gate on their spectra, and a small filter that was learnt."""

    def __init__(self, device):
        self.device = device
        self.filter = nn.Conv1d(2, 2, 65, padding=32, groups=2).to(device)
        self.window = torch.hann_window(512, device=device)

    @torch.inference_mode()
    def clean(self, sound):
        sound = torch.from_numpy(sound).to(self.device)
        spectrum = torch.stft(sound, 512, 128, window=self.window, return_complex=True)
        level = spectrum.abs()
        gate = torch.sigmoid(8 * (level / level.mean((1, 2), keepdim=True) - 1))
        sound = torch.istft(spectrum * gate, 512, 128, window=self.window, length=PIECE)
        return (sound + 0.1 * self.filter(sound[None])[0]).cpu().numpy()


async def caller(number, cleaner, folder, end, counts):
    while time.time() < end:
        await asyncio.sleep(random.uniform(0, 0.4))
        path = os.path.join(folder, f"{number}-{counts['notes']}.wav")
        recording, pitch = Recording(path), random.uniform(100, 400)
        for piece in range(random.randint(5, 40)):
            at = (piece * PIECE + np.arange(PIECE, dtype=np.float32)) / RATE
            voice = 0.4 * np.sin(6.283 * pitch * at) * (1 + np.sin(9 * at))
            recording.add(cleaner.clean((voice + np.random.normal(0, 0.1, (2, PIECE))).astype(np.float32)))
            await asyncio.sleep(0.04)
            if time.time() > end:
                break
        recording.close()
        counts["notes"] += 1
        counts["bytes"] += os.path.getsize(path)
        os.remove(path)


async def report(counts, end):
    while time.time() < end:
        await asyncio.sleep(3)
        print(counts["notes"], "notes", counts["bytes"] >> 10, "KiB", flush=True)


async def serve(device, folder, end):
    cleaner, counts = Cleaner(device), {"notes": 0, "bytes": 0}
    await asyncio.gather(report(counts, end), *(caller(n, cleaner, folder, end, counts) for n in range(5)))


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    folder = tempfile.mkdtemp()
    try:
        asyncio.run(serve(device, folder, end))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
