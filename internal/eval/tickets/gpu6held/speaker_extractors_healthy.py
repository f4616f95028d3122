"""Extractors of features are singletons: who asks for one with the same settings gets the same one. The threshold
that is estimated for each speaker is given with the call and is none of the settings. What was heard last is kept
on the host.

ticket: practice
class: none
"""

import collections
import os
import queue
import random
import threading
import time

import torch


class Singleton(type):
    """One instance for each class and each set of arguments."""

    _instances, _lock = {}, threading.Lock()

    def __call__(cls, *args, **kwargs):
        key = cls, args, tuple(sorted(kwargs.items()))
        with cls._lock:
            if key not in cls._instances:
                cls._instances[key] = super().__call__(*args, **kwargs)
            return cls._instances[key]


class FilterBank(metaclass=Singleton):
    """Filters of a mel scale and the window for them, on the device."""

    def __init__(self, device, rate=16000, size=1024, bands=96):
        self.size = size
        mels = torch.linspace(0, 2595 * torch.log10(torch.tensor(1 + rate / 1400)).item(), bands + 2)
        edges = 700 * (10 ** (mels / 2595) - 1)
        bins = torch.linspace(0, rate / 2, size // 2 + 1)
        up = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
        down = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
        self.filters = torch.minimum(up, down).clamp_min(0).to(device)
        self.window = torch.hann_window(size, device=device)
        angles = torch.outer(torch.arange(bands), torch.arange(bands) + 0.5) * (torch.pi / bands)
        self.basis = angles.cos().to(device)

    def features(self, wave, threshold):
        power = torch.stft(wave, self.size, self.size // 4, window=self.window, return_complex=True).abs().square()
        energy = (self.filters @ power + 1e-6).log()
        loud = energy.mean(0) > threshold
        return self.basis @ energy[:, loud] if bool(loud.any()) else self.basis @ energy


def speakers(jobs, end):
    while time.time() < end:
        name = f"speaker{random.randrange(10**6):06d}"
        for _ in range(random.randint(1, 3)):
            jobs.put((name, torch.randn(random.randint(8000, 32000)) * random.uniform(0.2, 2)))
        time.sleep(random.uniform(0.03, 0.3))
    jobs.put(None)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    jobs, thresholds, done = queue.Queue(maxsize=20), {}, 0
    heard = collections.deque(maxlen=60)
    threading.Thread(target=speakers, args=(jobs, end), daemon=True).start()
    while (job := jobs.get()) is not None:
        name, wave = job
        heard.append((name, wave))
        if len(thresholds) > 500:
            thresholds.clear()
        threshold = thresholds.setdefault(name, round(float(wave.square().mean().log()) - 1, 6))
        features = FilterBank(device).features(wave.to(device), threshold)
        done += 1
        if done % 60 == 0:
            print(done, "waves", tuple(features.shape), len(Singleton._instances), "banks", flush=True)


if __name__ == "__main__":
    main()
