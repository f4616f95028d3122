"""Line calling on a tennis court from the tracks of two cameras.

Each rally is a handful of noisy ball positions. A worker fits the flight up to the bounce, spreads the uncertainty of
the bounce over the court and returns a heat map of where the ball may have landed; the umpire calls the rally in or
out when the map is there, and the calls of the last rallies give the rate of close ones.

ticket: practice
class: host-growth
holder: pending
cause: futures-kept
"""
import itertools
import os
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

COURT_LENGTH = 23.77
SINGLES_WIDTH = 8.23
CELLS = (520, 260)
MARGIN = 2.0
PACE = 0.09


def serve_rally(rng):
    """Observed positions of a ball (time, x, y, z) from the stroke to the bounce."""
    times = np.linspace(0.0, 0.8, 28)
    landing = np.array([rng.uniform(2.0, COURT_LENGTH / 2 + 1.0), rng.uniform(-0.3, SINGLES_WIDTH + 0.3)])
    start = np.array([COURT_LENGTH, SINGLES_WIDTH / 2])
    share = (times / times[-1])[:, None]
    ground = start + share * (landing - start)
    height = 2.4 + 0.95 * times - 4.905 * times ** 2
    track = np.column_stack([times, ground, height])
    track[:, 1:] += rng.normal(0.0, 0.03, size=(times.size, 3))
    return track


def fit_flight(track):
    """Least squares fit of a straight ground track and a parabola for the height."""
    times = track[:, 0]
    line = np.column_stack([np.ones_like(times), times])
    curve = np.column_stack([line, times ** 2])
    ground, _, _, _ = np.linalg.lstsq(line, track[:, 1:3], rcond=None)
    height, _, _, _ = np.linalg.lstsq(curve, track[:, 3], rcond=None)
    left = track[:, 1:3] - line @ ground
    spread = left.std(axis=0) + 0.02
    return ground, height, spread


def bounce_time(height):
    free, rising, bending = height
    root = np.sqrt(max(rising ** 2 - 4.0 * bending * free, 0.0))
    return (-rising - root) / (2.0 * bending)


def landing_map(track):
    """Probability of the landing point on a grid over the court and its margins."""
    ground, height, spread = fit_flight(track)
    moment = bounce_time(height)
    centre = ground[0] + moment * ground[1]
    along = np.linspace(-MARGIN, COURT_LENGTH + MARGIN, CELLS[0])
    across = np.linspace(-MARGIN, SINGLES_WIDTH + MARGIN, CELLS[1])
    lengthwise = np.exp(-0.5 * ((along - centre[0]) / (4.0 * spread[0])) ** 2)
    sideways = np.exp(-0.5 * ((across - centre[1]) / (4.0 * spread[1])) ** 2)
    heat = np.outer(lengthwise, sideways).astype(np.float32)  # grows
    heat /= heat.sum() + 1e-9
    return heat


class Umpire:
    def __init__(self, pool):
        self.pool = pool
        self.pending = {}
        self.called = 0
        self.latest = deque(maxlen=50)
        along = np.linspace(-MARGIN, COURT_LENGTH + MARGIN, CELLS[0])
        across = np.linspace(-MARGIN, SINGLES_WIDTH + MARGIN, CELLS[1])
        long_enough = (along >= 0.0) & (along <= COURT_LENGTH)
        wide_enough = (across >= 0.0) & (across <= SINGLES_WIDTH)
        self.inside = np.outer(long_enough, wide_enough)

    def watch(self, rally, track):
        self.pending[rally] = self.pool.submit(landing_map, track)  # keeps

    def call_next(self):
        """Call the rallies in their order, as far as their maps are ready."""
        while self.called in self.pending and self.pending[self.called].done():
            heat = self.pending[self.called].result()
            self.latest.append(float(heat[self.inside].sum()))
            self.called += 1

    def close_share(self):
        close = [chance for chance in self.latest if 0.2 < chance < 0.8]
        return len(close) / max(len(self.latest), 1)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rng = np.random.default_rng(21)
    with ThreadPoolExecutor(max_workers=1) as pool:
        umpire = Umpire(pool)
        for rally in itertools.count():
            if time.time() > end:
                break
            umpire.watch(rally, serve_rally(rng))
            time.sleep(PACE)
            umpire.call_next()
            if rally % 30 == 29:
                print(f"rally {rally + 1}: {umpire.called} called, {umpire.close_share():.0%} close", flush=True)


if __name__ == "__main__":
    main()
