"""A model of MLX is evaluated batch by batch. The sum of the losses is computed with each batch.

ticket: ml-explore/mlx: memory grows when nothing is evaluated
class: none
"""

import os
import random
import time

import mlx.core as mx


class Meter:
    def __init__(self):
        self.total, self.count = mx.array(0.0), 0

    def add(self, loss):
        self.total = self.total + loss
        self.count += 1
        mx.eval(self.total)


def main():
    mx.set_default_device(mx.cpu)
    weights = [mx.random.normal((128, 128)) for _ in range(2)]
    mx.eval(weights)
    meter, end = Meter(), time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        x = mx.random.normal((64, 128))
        mx.eval(x)
        y = mx.tanh(x @ weights[0]) @ weights[1]
        meter.add(mx.mean((y - x) ** 2))
        if meter.count % 500 == 0:
            print("batches", meter.count, flush=True)
        time.sleep(random.uniform(0.01, 0.04))


if __name__ == "__main__":
    main()
