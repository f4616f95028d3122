"""Reading room for the signals of the weather ships.

Ships on station send their observations in groups of five figures, four times a day and whenever the weather turns.
A small encoder reads the groups of a batch of signals; the readings of the last eight seconds are compared ship by
ship, since a garbled signal stands apart from what the same ship and its neighbours sent just before.

    ticket: practice
    class: none
"""
import os
import random
import time
from collections import deque
from dataclasses import dataclass

import torch
from transformers import BertConfig, BertModel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BATCHES_PER_SECOND = 8
SIGNALS, GROUPS, WIDTH = 8, 128, 192
GROUP_CODES = 512
COMPARE_SECONDS = 8.0
STATIONS = "ABCDEIJKM"
GARBLED_BELOW = 0.35


@dataclass
class Reading:
    at: float
    stations: list
    hidden: torch.Tensor


class Wireless:
    """Signals as they come in from the stations."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.waiting = 0

    def receive(self):
        self.waiting += self.dice.randint(6, 12)

    def take(self):
        """A batch of signals, filled up with repeats where fewer are waiting."""
        fresh = min(SIGNALS, self.waiting)
        self.waiting -= fresh
        stations = [self.dice.choice(STATIONS) for _ in range(SIGNALS)]
        groups = torch.randint(1, GROUP_CODES, (SIGNALS, GROUPS), generator=self.generator)
        return stations, groups.to(DEVICE)


class SignalReader:
    def __init__(self, seed):
        torch.manual_seed(seed)
        config = BertConfig(
            vocab_size=GROUP_CODES,
            hidden_size=WIDTH,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=2 * WIDTH,
            max_position_embeddings=GROUPS,
        )
        self.encoder = BertModel(config, add_pooling_layer=False).to(DEVICE).eval()

    def read(self, groups):
        with torch.no_grad():
            return self.encoder(input_ids=groups).last_hidden_state


class ReadingRoom:
    """Compares each batch with the readings before it."""

    def __init__(self, reader, seconds):
        self.reader = reader
        self.seconds = seconds
        self.read = 0
        self.garbled = 0
        self._readings = deque()

    def enter(self, at, stations, groups):
        hidden = self.reader.read(groups)
        likeness = self.likeness(hidden)
        self.garbled += sum(1 for value in likeness if value < GARBLED_BELOW)
        self._readings.append(Reading(at, stations, hidden))
        self.read += len(stations)
        return min(likeness)

    def likeness(self, hidden):
        """Of each signal to the mean of the newest batches."""
        if not self._readings:
            return [1.0] * len(hidden)
        newest = [self._readings[-1 - back] for back in range(min(3, len(self._readings)))]
        mean = torch.stack([reading.hidden.mean(dim=(0, 1)) for reading in newest]).mean(dim=0)
        return torch.cosine_similarity(hidden.mean(dim=1), mean[None, :], dim=1).tolist()

    def busiest(self, now):
        """The station with most signals in the time of comparison."""
        counts = dict.fromkeys(STATIONS, 0)
        for reading in reversed(self._readings):
            if now - reading.at > self.seconds:
                break
            for station in reading.stations:
                counts[station] += 1
        return max(counts, key=counts.get)

    def tidy(self, now):
        while self._readings and now - self._readings[0].at > self.seconds:
            self._readings.popleft()


def stand_watch(seconds):
    wireless = Wireless(seed=1701)
    room = ReadingRoom(SignalReader(seed=1702), COMPARE_SECONDS)
    started = time.monotonic()
    turn = 0
    while time.monotonic() - started < seconds:
        now = time.monotonic() - started
        wireless.receive()
        least = room.enter(now, *wireless.take())
        room.tidy(now)
        turn += 1
        if turn % (3 * BATCHES_PER_SECOND) == 0:
            print(f"{room.read} signals read, busiest station {room.busiest(now)}, least likeness {least:.2f}, "
                  f"{room.garbled} garbled", flush=True)
        time.sleep(max(0.0, started + turn / BATCHES_PER_SECOND - time.monotonic()))
    return room


def main():
    torch.set_num_threads(1)
    room = stand_watch(float(os.environ.get("SECONDS", "120")))
    print(f"watch over: {room.read} signals read, {room.garbled} garbled", flush=True)


if __name__ == "__main__":
    main()
