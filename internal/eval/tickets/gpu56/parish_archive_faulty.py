"""Searches the letters of a parish archive. The letters are vectors on the device; each visitor has a worker of their
own, which takes the visitor's batches of questions in turn, so that one visitor does not wait for another. The visits
overlap: when one is over, the next visitor comes in.

ticket: practice
class: driver-growth
holder: Thread Visit work _thread_local cublas_handle
cause: threads-kept workers-left handle-leak library-workspaces
"""

import os
import queue
import random
import threading
import time
from collections import deque

import numpy as np

try:
    import cupy as xp
except ImportError:
    xp = np

LETTERS, WIDTH, QUESTIONS, FOUND, VISITORS = 12_000, 192, 24, 5, 3


class Archive:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((LETTERS, WIDTH)).astype(np.float32)
        self.rows = xp.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def search(self, questions):
        """The numbers of the letters nearest to each question, best first."""
        scores = xp.asarray(questions) @ self.rows.T  # grows
        found = xp.argsort(-scores, axis=1)[:, :FOUND]
        return found.get() if hasattr(found, "get") else found


class Visit:
    def __init__(self, archive, number):
        self.archive, self.number = archive, number
        self.questions, self.answers = queue.Queue(), queue.Queue()
        self.worker = threading.Thread(target=self.work, name=f"visit-{number}", daemon=True)
        self.worker.start()  # keeps

    def work(self):
        while True:
            questions = self.questions.get()
            self.answers.put(self.archive.search(questions))

    def ask(self, questions):
        self.questions.put(questions)
        return self.answers.get(timeout=60)


class ReadingRoom:
    def __init__(self, archive):
        self.archive, self.visits, self.came = archive, deque(), 0
        for _ in range(VISITORS):
            self.come_in()

    def come_in(self):
        self.came += 1
        self.visits.append(Visit(self.archive, self.came))

    def next_please(self):
        """The visitor who came first leaves, and another comes in."""
        self.visits.popleft()
        self.come_in()


def main():
    rng = np.random.default_rng(8)
    room, asked = ReadingRoom(Archive(7)), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    change = time.time() + 1.0
    while time.time() < end:
        visit = random.choice(room.visits)
        found = visit.ask(rng.standard_normal((QUESTIONS, WIDTH)).astype(np.float32))
        asked += 1
        if time.time() > change:
            room.next_please()
            change = time.time() + random.uniform(0.8, 1.4)
        if asked % 20 == 0:
            print(f"visitor {visit.number} sees letter {found[0, 0]}; {asked} batches, {room.came} visits", flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
