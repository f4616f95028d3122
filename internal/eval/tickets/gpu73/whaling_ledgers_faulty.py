"""Passages of whaling ledgers are found for those who ask a language model about them. Each reader gets a clerk, a
thread that embeds the reader's questions and finds the nearest passages, so that a slow reader does not hold up the
others. A reader asks some questions, and leaves the room.

ticket: practice
class: driver-growth
holder: Clerk serve inbox thread
cause: threads-kept workers-left handle-leak library-workspaces
"""

import os
import queue
import random
import threading
import time

import cupy as cp
import numpy as np

PASSAGES, WIDTH, WORDS, LENGTH, NEAREST = 20_000, 256, 5_000, 24, 5
READERS = 3


class Ledgers:
    """The passages, and what turns a question into a vector."""

    def __init__(self):
        self.passages = cp.random.standard_normal((PASSAGES, WIDTH), dtype=cp.float32)
        self.passages /= cp.linalg.norm(self.passages, axis=1, keepdims=True)
        self.words = cp.random.standard_normal((WORDS, WIDTH), dtype=cp.float32)
        self.mix = cp.random.standard_normal((WIDTH, WIDTH), dtype=cp.float32) / WIDTH**0.5

    def find(self, questions):
        """The numbers of the nearest passages to each question."""
        vectors = cp.tanh(self.words[cp.asarray(questions)].mean(axis=1) @ self.mix)  # grows
        scores = vectors @ self.passages.T
        best = cp.argpartition(scores, PASSAGES - NEAREST, axis=1)[:, -NEAREST:]
        return cp.asnumpy(best)


class Clerk:
    """Serves one reader, in a thread of its own."""

    def __init__(self, ledgers):
        self.ledgers = ledgers
        self.inbox, self.outbox = queue.Queue(), queue.Queue()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()  # keeps

    def serve(self):
        while True:
            questions = self.inbox.get()
            if questions is None:
                return
            self.outbox.put(self.ledgers.find(questions))

    def ask(self, questions):
        self.inbox.put(questions)
        return self.outbox.get()

    def close(self):
        self.inbox.put(None)


class Reader:
    def __init__(self, ledgers, draw):
        self.clerk, self.draw = Clerk(ledgers), draw
        self.left = random.randint(4, 8)

    def ask(self):
        """Asks for some passages, and says how many different ones there were."""
        questions = self.draw.integers(WORDS, size=(random.choice((1, 2, 4)), LENGTH))
        self.left -= 1
        return len(np.unique(self.clerk.ask(questions)))


def main():
    ledgers, draw = Ledgers(), np.random.default_rng()
    readers, come, found = [], 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        while len(readers) < READERS:
            readers.append(Reader(ledgers, draw))
            come += 1
        reader = random.choice(readers)
        found += reader.ask()
        if reader.left == 0:
            readers.remove(reader)
            print(f"{come} readers have come, {found} passages were found", flush=True)
        time.sleep(random.uniform(0.1, 0.35))


if __name__ == "__main__":
    main()
