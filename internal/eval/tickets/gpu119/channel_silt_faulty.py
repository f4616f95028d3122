"""Following the silt in the channel of an aqueduct.

A cart with an echo sounder runs along the channel. Its echoes are sharpened on the device, brought back as profiles of
the bed, and corrected by the gain of each sounder. From the profiles of the last seconds the survey tells where silt
settles, how fast, and where the sluice should be opened for flushing.

ticket: practice
class: host-growth
holder: _profiles
cause: buffer-without-bound
"""
import os
import time

import numpy as np
import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
RUNS_PER_SECOND = 8
SOUNDERS, STATIONS = 192, 1024
SPAN = 16
FLUSH_DEPTH = 0.62


class EchoSharpener:
    """Takes the ringing of the sounders out of the raw echoes."""

    def __init__(self, seed=33):
        self.source = torch.Generator().manual_seed(seed)
        bed = torch.rand(16, SOUNDERS, STATIONS, generator=self.source)
        self.beds = bed.cumsum(dim=2).div(torch.arange(1, STATIONS + 1)).to(DEVICE)
        pulse = torch.exp(-torch.arange(STATIONS, dtype=torch.float32) / 6.0).to(DEVICE)
        self.response = torch.fft.rfft(pulse)

    def listen(self, run):
        """The raw echoes of one run of the cart."""
        bed = self.beds[run % len(self.beds)]
        silt = 0.1 * min(1.0, (run % 240) / 240.0)
        return torch.fft.irfft(torch.fft.rfft(bed + silt) * self.response, n=STATIONS)

    def sharpen(self, echoes):
        spectrum = torch.fft.rfft(echoes)
        power = self.response.abs().square()
        inverse = self.response.conj() / (power + 1e-3)
        return torch.fft.irfft(spectrum * inverse, n=STATIONS)


class ProfileLog:
    """Profiles of the bed from the last runs, newest last."""

    def __init__(self, span):
        self.span = span
        self._profiles = []

    def add(self, profile):
        self._profiles.append(profile)  # keeps

    def recent(self):
        return self._profiles[-self.span :]

    def newest(self):
        return self._profiles[-1]

    def rise(self):
        """How much the bed has come up between the older and the newer half of the last runs."""
        runs = self.recent()
        if len(runs) < 2:
            return 0.0
        half = len(runs) // 2
        older = float(np.mean([profile[::8, ::8].mean() for profile in runs[:half]]))
        newer = float(np.mean([profile[::8, ::8].mean() for profile in runs[half:]]))
        return newer - older


class SiltSurvey:
    """Runs the cart and watches the bed."""

    def __init__(self, sharpener, log):
        self.sharpener = sharpener
        self.log = log
        chance = np.random.default_rng(33)
        self.gain = chance.uniform(0.95, 1.05, size=(SOUNDERS, 1)).astype(np.float32)
        self.flushes = 0
        self.last_flush = -SPAN

    def run_cart(self, run):
        echoes = self.sharpener.listen(run)
        bed = self.sharpener.sharpen(echoes).cpu().numpy()
        self.log.add(bed * self.gain)  # grows
        self.decide(run)

    def decide(self, run):
        depth = float(self.log.newest()[:, STATIONS // 2 :].mean())
        if depth > FLUSH_DEPTH and run - self.last_flush >= SPAN:
            self.flushes += 1
            self.last_flush = run

    def worst_station(self):
        return int(self.log.newest().mean(axis=0).argmax())


class Cart:
    """The drive of the cart: so many runs a second, until the shift is over."""

    def __init__(self, rate):
        self.rate = rate
        self.start = time.monotonic()

    def runs(self):
        run = 0
        while time.monotonic() - self.start < SECONDS:
            yield run
            run += 1
            time.sleep(max(0.0, self.start + run / self.rate - time.monotonic()))


def main():
    torch.manual_seed(33)
    survey = SiltSurvey(EchoSharpener(), ProfileLog(SPAN))
    done = 0
    for run in Cart(RUNS_PER_SECOND).runs():
        survey.run_cart(run)
        done = run + 1
        if done % (3 * RUNS_PER_SECOND) == 0:
            print(f"run {done}: rise {survey.log.rise():+.4f} m, worst station {survey.worst_station()}, "
                  f"{survey.flushes} flushes", flush=True)
    print(f"{done} runs of the cart, {survey.flushes} flushes", flush=True)


if __name__ == "__main__":
    main()
