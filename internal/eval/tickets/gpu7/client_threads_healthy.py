"""Cameras send rows of numbers to be projected on the device. Each camera is served by a thread
out of four, which take up what comes from any of them; a thread that multiplies matrices has a handle of the library
for that, with memory for its work.

ticket: practice
class: none
"""

import os
import queue
import random
import threading
import time

import cupy as cp
import numpy as np


class Service:
    """Projects what comes in."""

    def __init__(self):
        self.basis = cp.asarray(np.random.default_rng(1).normal(size=(512, 512)).astype(np.float32))
        self.clients, self.done = {}, 0

    def project(self, rows, answer):
        out = cp.matmul(cp.asarray(rows), self.basis)
        answer.put(float(cp.abs(out).mean()))

    def work(self, jobs):
        while True:
            self.project(*jobs.get())
            self.done += 1

    def connect(self, client):
        lane = client % 4
        if lane not in self.clients:
            jobs = queue.Queue()
            threading.Thread(target=self.work, args=(jobs,), daemon=True).start()
            self.clients[lane] = jobs
        return self.clients[lane]


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    service, answer, numbers = Service(), queue.Queue(), np.random.default_rng(2)
    client = 0
    while time.time() < end:
        jobs = service.connect(client)
        for _ in range(random.randint(8, 20)):
            jobs.put((numbers.normal(size=(256, 512)).astype(np.float32), answer))
            level = answer.get()
            time.sleep(0.1)
        client += 1
        if client % 5 == 0:
            print(client, "clients", service.done, "jobs", round(level, 3), flush=True)


if __name__ == "__main__":
    main()
