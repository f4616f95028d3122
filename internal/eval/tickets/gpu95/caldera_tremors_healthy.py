"""Tremor watch at a caldera.

Sixteen seismometers stand on the rim. Five times a second the amplitudes of the last few seconds are computed (with
the alarm if they double), and every two seconds there is a bulletin on the unrest as a whole: the records since its
first day are put on one time base, tapered at both ends, and correlated between the stations. The clock of the
observatory runs fast here, so that there are some minutes more of records for each bulletin. (The records are made
up: noise, and a hum that all stations have in common.)

    ticket: practice
    class: none
"""
import os
import sched
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STATIONS = 16
SAMPLES_AT_START = 393_216
SAMPLES_PER_BULLETIN = 32_768
LONGEST = SAMPLES_AT_START + 40 * SAMPLES_PER_BULLETIN
WINDOW = 4096
TAPER = 2048


class Archive:
    """The records of all stations, from the first day of the unrest."""

    def __init__(self, seed):
        self.length = SAMPLES_AT_START
        self.noise = torch.Generator(device=DEVICE)
        self.noise.manual_seed(seed)
        self.room = torch.empty(STATIONS * LONGEST, device=DEVICE)
        self.hum = torch.sin(torch.arange(WINDOW, device=DEVICE) * 0.05)

    def extend(self):
        self.length = min(self.length + SAMPLES_PER_BULLETIN, LONGEST)

    def window(self):
        gain = torch.rand(STATIONS, 1, generator=self.noise, device=DEVICE)
        return torch.randn(STATIONS, WINDOW, generator=self.noise, device=DEVICE) + 2.0 * gain * self.hum

    def all_records(self):
        records = self.room[: STATIONS * self.length].view(STATIONS, self.length)
        records.normal_(generator=self.noise)
        for block in records.split(WINDOW, dim=1):
            block.add_(self.hum[: block.shape[1]], alpha=0.5)
        return records


def taper(records):
    ramp = torch.linspace(0.0, 1.0, TAPER, device=DEVICE)
    records[:, :TAPER].mul_(ramp)
    records[:, -TAPER:].mul_(ramp.flip(0))


def coherence(records):
    """Mean of the correlations between different stations."""
    records.sub_(records.mean(dim=1, keepdim=True))
    products = records @ records.T
    scale = products.diagonal().sqrt()
    correlations = products / (scale[:, None] * scale[None, :])
    return float((correlations.sum() - STATIONS) / (STATIONS * (STATIONS - 1)))


class Observatory:
    def __init__(self, end):
        self.end = end
        self.agenda = sched.scheduler(time.time, time.sleep)
        self.archive = Archive(seed=79)
        self.level = None
        self.alarms = 0
        self.coherence = 0.0
        self.bulletins = 0

    def every(self, interval, duty):
        def turn(due):
            duty()
            following = max(due + interval, time.time())
            if following < self.end:
                self.agenda.enterabs(following, 1, turn, (following,))

        self.agenda.enter(0.0, 1, turn, (time.time(),))

    def watch(self):
        amplitude = float(self.archive.window().square().mean().sqrt())
        if self.level is not None and amplitude > 2.0 * self.level:
            self.alarms += 1
        self.level = amplitude if self.level is None else 0.95 * self.level + 0.05 * amplitude

    def bulletin(self):
        records = self.archive.all_records()
        taper(records)
        self.coherence = coherence(records)
        self.bulletins += 1
        self.archive.extend()

    def status(self):
        if self.level is not None:
            print(f"bulletin {self.bulletins}: level {self.level:.3f}, coherence {self.coherence:.3f}, "
                  f"{self.archive.length} samples, {self.alarms} alarms", flush=True)

    def open(self):
        self.every(0.2, self.watch)
        self.every(2.0, self.bulletin)
        self.every(4.0, self.status)
        self.agenda.run()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    Observatory(end).open()


if __name__ == "__main__":
    main()
