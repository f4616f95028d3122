"""Floods are foretold a day ahead, from the levels that gauges along rivers write down every few minutes. The file of
each gauge is read by a thread of its own, so that a slow one holds up nobody; the threads under way are listed, so
as to be joined at the end and not die in the middle of a file.

ticket: practice
class: none
"""

import os
import queue
import random
import threading
import time

import numpy as np
import torch
from torch import nn

DAY, DAYS, WINDOW = 288, 700, 7


class GaugeReader(threading.Thread):
    """Reads what a gauge has written in two years, and hands itself over when done."""

    def __init__(self, gauge, ready):
        super().__init__(name=f"gauge {gauge}")
        self.gauge, self.ready = gauge, ready
        self.level = self.warnings = None

    def run(self):
        numbers = np.random.default_rng(self.gauge)
        time.sleep(numbers.uniform(0.05, 0.4))  # the disk
        rain = numbers.gamma(0.1, 2.0, DAY * DAYS).astype(np.float32)
        memory = np.exp(-np.arange(2 * DAY, dtype=np.float32) / (0.3 * DAY))
        size = 1 << (len(rain) + len(memory)).bit_length()
        flow = np.fft.irfft(np.fft.rfft(rain, size) * np.fft.rfft(memory, size), size)[:len(rain)]
        noise = numbers.normal(0, 0.05, len(rain))
        self.level = (np.log1p(flow) + noise).astype(np.float32)
        self.warnings = int((self.level > np.quantile(self.level[::50], 0.99)).sum())
        self.ready.put(self)


class Station:
    """Has gauges read, a few at a time."""

    def __init__(self, at_a_time):
        self.at_a_time, self.asked, self.under_way = at_a_time, 0, 0
        self.readers, self.ready = [], queue.Queue()

    def ask(self):
        self.readers = [reader for reader in self.readers if reader.is_alive()]
        while self.under_way < self.at_a_time:
            self.asked += 1
            reader = GaugeReader(self.asked, self.ready)
            self.readers.append(reader)
            self.under_way += 1
            reader.start()

    def next(self):
        self.ask()
        reader = self.ready.get()
        self.under_way -= 1
        return reader

    def close(self):
        for reader in self.readers:
            reader.join()


def windows(level, count):
    """Weeks by the hour, and the highest level of the day after each."""
    hourly = level.reshape(-1, 12).mean(1)
    begin = np.random.randint(0, len(hourly) - 24 * (WINDOW + 1), count)
    weeks = np.stack([hourly[b:b + 24 * WINDOW] for b in begin])
    highest = np.stack([hourly[b + 24 * WINDOW:b + 24 * (WINDOW + 1)].max() for b in begin])
    return torch.from_numpy(weeks), torch.from_numpy(highest)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = nn.Sequential(nn.Linear(24 * WINDOW, 128), nn.SiLU(), nn.Linear(128, 64), nn.SiLU(),
                        nn.Linear(64, 1)).to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    station, gauges, smooth = Station(3), 0, None
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        reader = station.next()
        for _ in range(random.randint(2, 6)):
            weeks, highest = windows(reader.level, 128)
            loss = nn.functional.smooth_l1_loss(net(weeks.to(device))[:, 0], highest.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        gauges += 1
        smooth = float(loss) if smooth is None else 0.9 * smooth + 0.1 * float(loss)
        if gauges % 10 == 0:
            print(gauges, "gauges, loss", round(smooth, 4), "the last with", reader.warnings, "warnings", flush=True)
        time.sleep(random.uniform(0.0, 0.15))
    station.close()


if __name__ == "__main__":
    main()
