"""Motion control for lamp posts.

A post that sees motion lights up and goes back to a low level some minutes after the last motion. The small event
loop serves the sensors and the timers of the posts; the trace of the motion is handed on to the moment at which
the post is dimmed, where it is counted for the statistics of the street.

ticket: practice
class: host-growth
holder: heap Loop
cause: timers-left
"""
import heapq
import itertools
import os
import random
import time

POSTS = 14
HOLD = 600.0
SENSE_EVERY = 0.05
SPEAK_EVERY = 2.0
SAMPLES = 2300


class Timer:
    __slots__ = ("due", "order", "action", "args", "cancelled")
    orders = itertools.count()

    def __init__(self, due, action, args):
        self.due = due
        self.order = next(self.orders)
        self.action = action
        self.args = args
        self.cancelled = False

    def __lt__(self, other):
        return (self.due, self.order) < (other.due, other.order)


class Loop:
    def __init__(self):
        self.heap = []
        self.served = 0

    def call_later(self, delay, action, *args):
        timer = Timer(time.time() + delay, action, args)
        heapq.heappush(self.heap, timer)  # keeps
        return timer

    def cancel(self, timer):
        timer.cancelled = True

    def run(self, end):
        while self.heap:
            now = time.time()
            if now >= end:
                break
            if self.heap[0].due > now:
                time.sleep(min(self.heap[0].due, end) - now)
                continue
            timer = heapq.heappop(self.heap)
            if not timer.cancelled:
                timer.action(*timer.args)
                self.served += 1


class Post:
    """A lamp post: bright after motion, low after the hold time."""

    def __init__(self, loop, number):
        self.loop = loop
        self.number = number
        self.bright = False
        self.dimming = None
        self.passages = 0

    def motion(self, trace):
        if self.dimming is not None:
            self.loop.cancel(self.dimming)
        self.bright = True
        self.passages += 1
        self.dimming = self.loop.call_later(HOLD, self.dim, trace)

    def dim(self, trace):
        self.bright = False
        self.dimming = None
        self.passages += len(trace["samples"]) // SAMPLES


class Street:
    def __init__(self, loop, seed):
        self.loop = loop
        self.rng = random.Random(seed)
        self.posts = [Post(loop, number) for number in range(POSTS)]
        self.kinds = dict.fromkeys(("walker", "cyclist", "car"), 0)

    def trace(self):
        kind = self.rng.choice(tuple(self.kinds))
        speed = {"walker": 1.4, "cyclist": 5.0, "car": 11.0}[kind]
        drift = self.rng.random()
        samples = [(0.002 * k, speed + drift * (k % 17) / 17) for k in range(SAMPLES)]  # grows
        return {"kind": kind, "samples": samples}

    def sense(self):
        trace = self.trace()
        self.kinds[trace["kind"]] += 1
        self.rng.choice(self.posts).motion(trace)
        self.loop.call_later(SENSE_EVERY, self.sense)

    def speak(self):
        bright = sum(post.bright for post in self.posts)
        passages = sum(post.passages for post in self.posts)
        print(f"{bright} of {POSTS} posts bright, {passages} passages, {self.kinds}", flush=True)
        self.loop.call_later(SPEAK_EVERY, self.speak)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    loop = Loop()
    street = Street(loop, seed=6)
    loop.call_later(0.0, street.sense)
    loop.call_later(SPEAK_EVERY, street.speak)
    loop.run(end)
    print(f"{loop.served} timers served", flush=True)


if __name__ == "__main__":
    main()
