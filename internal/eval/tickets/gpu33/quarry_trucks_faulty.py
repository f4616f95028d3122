"""The desk of a quarry follows its trucks. A truck that reports for the first time gets a follower, a thread which
reads its messages and keeps an estimate of where it is and how heavy it is (a Kalman filter on the GPU). A truck that
has left by the gate is taken off the board.

ticket: practice
class: driver-growth
holder: follow Follower inbox Thread
cause: threads-kept handle-leak workers-left library-workspaces driver-memory-kept
"""

import os
import queue
import random
import threading
import time

import cupy as cp
import numpy as np

STATE, SENSED, HERE = 96, 24, 4

rng = cp.random.RandomState(7)
MOVE = cp.eye(STATE, dtype=cp.float32) + 0.01 * rng.standard_normal((STATE, STATE)).astype(cp.float32)
SENSE = rng.standard_normal((SENSED, STATE)).astype(cp.float32) / STATE**0.5


class Follower:
    """Follows one truck in a thread of its own."""

    def __init__(self, truck):
        self.truck, self.inbox, self.load = truck, queue.Queue(), 0.0
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()  # keeps

    def follow(self):
        state = cp.zeros(STATE, cp.float32)
        spread = cp.eye(STATE, dtype=cp.float32)
        while (message := self.inbox.get()) is not None:
            state, spread = self.update(state, spread, cp.asarray(message))

    def update(self, state, spread, sensed):
        state = MOVE @ state  # grows
        spread = MOVE @ spread @ MOVE.T
        gain = spread @ SENSE.T
        gain /= cp.trace(SENSE @ gain) + 1
        state = state + gain @ (sensed - SENSE @ state)
        spread = spread - gain @ (SENSE @ spread)
        spread /= cp.abs(spread).max()
        self.load = float(cp.abs(state).mean())
        return state, spread


class Desk:
    def __init__(self):
        self.board, self.seen = {}, 0

    def report(self, truck, message):
        if truck not in self.board:
            self.board[truck] = Follower(truck)
            self.seen += 1
        self.board[truck].inbox.put(message)

    def left(self, truck):
        follower = self.board.pop(truck)
        return follower.load


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    desk, next_truck = Desk(), HERE
    trucks, messages, load = list(range(HERE)), 0, 0.0
    leaves = time.time() + 1.5
    while time.time() < end:
        truck = random.choice(trucks)
        desk.report(truck, np.random.standard_normal(SENSED).astype(np.float32))
        messages += 1
        if time.time() > leaves and truck in desk.board:
            load = desk.left(truck)
            trucks[trucks.index(truck)] = next_truck
            next_truck += 1
            leaves = time.time() + random.uniform(1.2, 1.8)
        if messages % 50 == 0:
            print(f"{messages} messages, {desk.seen} trucks, {len(desk.board)} here, load {load:.2f}", flush=True)
        time.sleep(random.uniform(0.03, 0.1))


if __name__ == "__main__":
    main()
