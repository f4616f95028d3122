"""Seepage surveys along the flood walls of a river town.

Crews plug a radio logger into the piezometers of a wall section for a survey of a few seconds. The station feeds the
traces of all surveys under way to a filter and raises the section's seepage index. A survey ends when the crew has
finished the section, or when the radio link to the logger is lost.

ticket: practice
class: none
"""
import os
import random
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 0.125
GAUGES = 64
SAMPLES = 12288
CHUNK = 256


class LinkLost(Exception):
    pass


class Survey:
    """One crew at one section: its traces and how far they are filled."""

    def __init__(self, number, section, length, link_fails):
        self.number = number
        self.section = section
        self.ends_in = length
        self.link_fails = link_fails
        self.traces = torch.zeros(GAUGES, SAMPLES, device=DEVICE)
        self.filled = 0
        self.under_way = True

    def receive(self, chunk, elapsed):
        self.ends_in -= elapsed
        if self.ends_in <= 0.0:
            self.under_way = False
            if self.link_fails:
                raise LinkLost(self.section)
            return
        self.traces[:, self.filled:self.filled + CHUNK] = chunk
        self.filled += CHUNK

    def seepage_index(self):
        used = self.traces[:, :max(self.filled, CHUNK)]
        return float((used.mean(dim=1) - used.std(dim=1) * 0.1).max())


class Station:
    def __init__(self, seed):
        self._surveys = {}
        self._rng = random.Random(seed)
        self._noise = torch.Generator(device=DEVICE).manual_seed(seed)
        self.started = 0
        self.finished = 0
        self.lost = 0
        self.index = {}

    def start_survey(self):
        self.started += 1
        section = f"wall-{self._rng.randrange(24):02d}"
        survey = Survey(self.started, section, self._rng.uniform(2.0, 5.0), self._rng.random() < 0.5)
        self._surveys[survey.number] = survey

    def finish(self, survey):
        self.index[survey.section] = survey.seepage_index()
        self.finished += 1
        del self._surveys[survey.number]

    def poll(self, elapsed):
        head = torch.rand(GAUGES, CHUNK, generator=self._noise, device=DEVICE)
        for survey in list(self._surveys.values()):
            if not survey.under_way:
                continue
            try:
                survey.receive(head + 0.01 * survey.number, elapsed)
            except LinkLost:
                self.lost += 1
                del self._surveys[survey.number]
                continue
            if not survey.under_way:
                self.finish(survey)

    def wettest(self):
        if not self.index:
            return "none"
        return max(self.index, key=self.index.get)


def main():
    torch.set_num_threads(1)
    station = Station(seed=12)
    start = time.monotonic()
    rounds = 0
    next_print = 3.0
    while True:
        now = time.monotonic() - start
        if now >= SECONDS:
            break
        if rounds % 2 == 0:
            station.start_survey()
        station.poll(ROUND)
        rounds += 1
        if now >= next_print:
            print(f"{now:5.1f} s started {station.started} finished {station.finished} "
                  f"link lost {station.lost} wettest {station.wettest()}", flush=True)
            next_print += 3.0
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    print(f"station closed: {station.started} surveys, {station.finished} finished", flush=True)


if __name__ == "__main__":
    main()
