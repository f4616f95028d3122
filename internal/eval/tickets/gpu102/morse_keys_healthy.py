"""Hands-on morse keys in the gallery of a telegraph museum.

A visitor sits down at a key and is given a few words to send. For each visitor a sounder writes the dots and dashes
as a tone into a sound tape, in a thread of its own, so that the click of one key never waits for another. The gallery
adds up how clean the keying is, and visitors get up when they have sent all words or when their group moves on.

ticket: practice
class: none
"""
import math
import os
import queue
import random
import threading
import time
from collections import deque
from dataclasses import dataclass, field

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
TAPE_SAMPLES = 1 << 20
DOT_SAMPLES = 2400
RATE = 16000
DESKS = 6
ROUNDS_PER_SECOND = 8
WORDS = ("PARIS", "CABLE", "STOP", "ATLANTIC", "MESSAGE", "RELAY", "DAWN", "KEEPER")
CODE = dict(zip("ABCDEGIKLMNOPRSTWY", (
    ".- -... -.-. -.. . --. .. -.- .-.. -- -. --- .--. .-. ... - .-- -.--".split())))


@dataclass
class Visit:
    """A visitor at a key."""

    words: list
    patience: int
    sent: int = 0
    inbox: queue.Queue = field(default_factory=queue.Queue)

    def done(self):
        return self.sent == len(self.words)


class Scoreboard:
    """Means of the keying, shared by all the sounders."""

    def __init__(self):
        self.lock = threading.Lock()
        self.level, self.words = 0.0, 0

    def add(self, level):
        with self.lock:
            self.level = 0.95 * self.level + 0.05 * level
            self.words += 1


def tone_of(word, pitch):
    """The tone of a word, as one stretch of samples on the device."""
    gate = []
    for letter in word:
        for mark in CODE[letter]:
            gate += [1.0] * (3 if mark == "-" else 1) + [0.0]
        gate += [0.0, 0.0]
    envelope = torch.tensor(gate, device=DEVICE).repeat_interleave(DOT_SAMPLES // 4)
    phase = torch.arange(envelope.numel(), device=DEVICE) * (2.0 * math.pi * pitch / RATE)
    return envelope * torch.sin(phase)


def sound_word(word, tape, at, pitch):
    """Write the word into the tape; gives the place after it and the mean level."""
    tone = tone_of(word, pitch)
    end = min(at + tone.numel(), tape.numel())
    tape[at:end] += tone[: end - at]
    return end, tape[at:end].abs().mean().item()


def run_sounder(inbox, tape, scoreboard, pitch):
    """Sound each word that comes from the key, until the key is put down."""
    at = 0
    while True:
        word = inbox.get()
        if word is None:
            return
        at, level = sound_word(word, tape, at % (TAPE_SAMPLES // 2), pitch)
        scoreboard.add(level)


class Gallery:
    """The desks with the keys, and those who sit there."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.hiss = 0.01 * torch.randn(4 * TAPE_SAMPLES, generator=self.generator, device=DEVICE)
        self.scoreboard = Scoreboard()
        self.seated = deque()
        self.arrived = self.completed = 0

    def seat(self):
        visit = Visit(self.rng.sample(WORDS, 3), self.rng.choice((2, 2, 5, 6)))
        shift = self.rng.randrange(3 * TAPE_SAMPLES)
        tape = self.hiss[shift : shift + TAPE_SAMPLES].clone()
        parts = (visit.inbox, tape, self.scoreboard, self.rng.choice((520.0, 600.0, 680.0)))
        threading.Thread(target=run_sounder, args=parts, daemon=True).start()
        self.seated.append(visit)
        self.arrived += 1

    def leave(self, visit):
        self.seated.remove(visit)
        if visit.done():
            self.completed += 1
        visit.inbox.put(None)

    def tick(self):
        """One round: a seat is filled if one is free, and every visitor sends a word or gets up."""
        if len(self.seated) < DESKS and self.rng.random() < 0.8:
            self.seat()
        for visit in list(self.seated):
            if visit.done() or visit.patience == 0:
                self.leave(visit)
                continue
            if self.rng.random() < 0.8:
                visit.inbox.put(visit.words[visit.sent])
                visit.sent += 1
            visit.patience -= 1


def main():
    torch.set_num_threads(1)
    gallery = Gallery(seed=1844)
    started = time.monotonic()
    next_print = started + 2.0
    while time.monotonic() - started < SECONDS:
        beat = time.monotonic()
        gallery.tick()
        if beat >= next_print:
            board = gallery.scoreboard
            print(f"{gallery.arrived} visitors, {gallery.completed} sent all, {board.words} words,"
                  f" level {board.level:.3f}", flush=True)
            next_print += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - beat)))
    print(f"gallery closed: {gallery.arrived} visitors, {gallery.scoreboard.words} words sounded", flush=True)


if __name__ == "__main__":
    main()
