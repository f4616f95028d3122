"""Cave tours: drip rates of the stalactites along the tour path.

Microphones in the two halls of the show cave listen to the drips between the groups. Each visit of the
listening cart works out the drip rate of a hall; the cart's scratch memory is taken from a pool of its own,
so that it does not mix with the map of the path, from which the guide's light is planned all the while.

ticket: practice
class: none
"""
import os
import time

import cupy

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 10
VISIT_EVERY = 2.0
HALLS = ("organ hall", "lake hall")
SAMPLES = 1_310_720
PATH_CELLS = (2048, 4096)
STRIP_ROWS = 64


class PathMap:
    """Brightness of the walls along the path; the light of the guide is planned on it."""

    def __init__(self):
        rows = cupy.arange(PATH_CELLS[0], dtype=cupy.float32).reshape(-1, 1)
        columns = cupy.arange(PATH_CELLS[1], dtype=cupy.float32).reshape(1, -1)
        self.walls = cupy.abs(cupy.sin(rows * 0.013) * cupy.cos(columns * 0.007))
        self.row = 0

    def plan_light(self):
        strip = self.walls[self.row:self.row + STRIP_ROWS]
        self.row = (self.row + STRIP_ROWS) % PATH_CELLS[0]
        return 1.0 / (0.05 + float(strip.mean()))


class DripListener:
    """Counts drips in the sound of one visit."""

    def __init__(self):
        self.pools = {}

    def pool_of(self, hall, visit):
        key = hall
        if key not in self.pools:
            self.pools[key] = cupy.cuda.MemoryPool()
        return self.pools[key]

    def listen(self, hall, visit):
        pool = self.pool_of(hall, visit)
        with cupy.cuda.using_allocator(pool.malloc):
            return self.drip_rate(HALLS.index(hall), visit)

    def drip_rate(self, hall_number, visit):
        sound = cupy.arange(SAMPLES, dtype=cupy.float32)
        sound *= 0.002 + 0.0001 * (visit % 5)
        cupy.sin(sound, out=sound)
        level = cupy.empty_like(sound)
        cupy.multiply(sound, sound, out=level)
        level *= 1.0 + 0.5 * hall_number
        cupy.floor(level, out=level)
        level -= 0.25
        cupy.sign(level, out=level)
        return 0.5 + 0.5 * float(level.sum()) / SAMPLES


class ListeningCart:
    """Goes from hall to hall and keeps the running rate of each."""

    def __init__(self, listener):
        self.listener = listener
        self.visits = 0
        self.rates = dict.fromkeys(HALLS, 0.0)

    def visit(self):
        hall = HALLS[self.visits % len(HALLS)]
        rate = self.listener.listen(hall, self.visits)
        self.rates[hall] = 0.8 * self.rates[hall] + 0.2 * rate
        self.visits += 1
        return hall


class Cave:
    def __init__(self):
        self.path = PathMap()
        self.cart = ListeningCart(DripListener())
        self.light = 1.0
        self.rounds = 0

    def round(self):
        self.light = 0.9 * self.light + 0.1 * self.path.plan_light()
        self.rounds += 1


def main():
    cave = Cave()
    start = time.monotonic()
    due, next_visit, next_print = start, start + 0.5, start + 3.0
    while time.monotonic() - start < SECONDS:
        cave.round()
        now = time.monotonic()
        if now >= next_visit:
            next_visit += VISIT_EVERY
            cave.cart.visit()
        if now >= next_print:
            next_print += 3.0
            rates = ", ".join(f"{hall} {rate:.3f}" for hall, rate in cave.cart.rates.items())
            print(f"visit {cave.cart.visits}: {rates}; light {cave.light:.3f}", flush=True)
        due += 1.0 / ROUNDS_A_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"halls dark after {cave.cart.visits} visits, {cave.rounds} rounds", flush=True)


if __name__ == "__main__":
    main()
