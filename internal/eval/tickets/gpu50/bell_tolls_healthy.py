"""Which bell is it? Recordings of church bells come in, each as long as the bell tolled. Padded to the longest toll,
their spectrum is compared with the partials of the known bells, and the nearest one is the answer. The recordings come
through a pool of threads, one for each tower.

ticket: practice
class: none
"""

import os
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import torch

RATE, BELLS, PARTIALS, TOWERS = 44_100, 40, 6, 3
SHORTEST, LONGEST = 2 * RATE, 4 * RATE


class Tower:
    """A microphone below a bell: it hears one toll at a time, of any length."""

    def __init__(self, number):
        self.random = random.Random(number)

    def listen(self):
        samples = self.random.randrange(SHORTEST, LONGEST)
        times = torch.arange(samples) / RATE
        sound = 0.05 * torch.randn(samples)
        for partial in range(1, 4):
            pitch = self.random.uniform(180, 320) * partial
            sound += torch.sin(2 * torch.pi * pitch * times) * torch.exp(-times * partial)
        return sound


class Catalogue:
    def __init__(self, device):
        self.device = device
        self.pitches = torch.empty(BELLS, PARTIALS, device=device).uniform_(150, 1200)
        self.found, self.lock = Counter(), threading.Lock()

    @torch.inference_mode()
    def name(self, sound):
        """The number of the bell whose partials are strongest in this sound."""
        samples = len(sound)
        window = torch.hann_window(samples, device=self.device)
        spectrum = torch.fft.fft(sound.to(self.device) * window, n=LONGEST).abs()
        places = (self.pitches * LONGEST / RATE).round().long()
        strengths = spectrum[places].log1p().mean(dim=1)
        return strengths.argmax().item()

    def hear(self, tower):
        bell = self.name(tower.listen())
        with self.lock:
            self.found[bell] += 1
        time.sleep(tower.random.uniform(0.2, 0.6))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    catalogue, towers, rounds = Catalogue(device), [Tower(number) for number in range(TOWERS)], 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with ThreadPoolExecutor(TOWERS) as pool:
        while time.time() < end:
            list(pool.map(catalogue.hear, towers))
            rounds += 1
            if rounds % 5 == 0:
                bell, times = catalogue.found.most_common(1)[0]
                print(f"{rounds} rounds, bell {bell} tolled {times} times", flush=True)


if __name__ == "__main__":
    main()
