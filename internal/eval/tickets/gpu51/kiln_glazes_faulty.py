"""Plan how glazes are fired in a tunnel kiln. A job works out how the heat goes through a load of pots for one peak
temperature. Jobs get a memory pool of their own on the device, so that different loads do not break up each other's
blocks, and a job that comes again finds its pool.

ticket: practice
class: pool-growth
holder: pools MemPool
cause: pool-never-trims cache-without-bound
"""

import contextlib
import os
import random
import time
from collections import defaultdict

import torch

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"

ROWS = 2048
WIDTHS = (900, 1000, 1100)
GLAZES = {"celadon": (1180, 1300), "raku": (900, 1010), "tenmoku": (1220, 1310)}
STEPS = 160

pools = {}
results = defaultdict(lambda: {"jobs": 0, "soaked": 0.0, "spread": 0.0})


def pool_of(key):
    """A context in which tensors come from the pool of this key."""
    if device == "cpu":
        return contextlib.nullcontext()
    if key not in pools:
        pools[key] = torch.cuda.MemPool()  # keeps
    return torch.cuda.use_mem_pool(pools[key])


def fire(width, peak):
    """Heat the load from its two ends. Return how much of it is soaked, and how uneven the heat is."""
    heat = torch.full((ROWS, width), 20.0, device=device)  # grows
    flow = torch.zeros_like(heat)  # grows
    inside = slice(1, -1)
    for step in range(STEPS):
        kiln = min(peak, 20 + (peak - 20) * step / (0.4 * STEPS))
        heat[0].fill_(kiln)
        heat[-1].fill_(kiln * 0.985)
        flow[inside].copy_(heat[2:]).sub_(heat[inside], alpha=2).add_(heat[:-2])
        heat.add_(flow, alpha=0.45)
    edge = heat[:64]
    soaked = (edge > 0.3 * peak).float().mean()
    return float(soaked), float(edge.std())


def report(done):
    print(f"{done} jobs")
    for (glaze, width), row in sorted(results.items()):
        jobs = row["jobs"]
        print(f"  {glaze:8} {width:5} {jobs:4} jobs  soaked {row['soaked'] / jobs:.3f}  "
              f"spread {row['spread'] / jobs:.1f}", flush=True)


end = time.time() + float(os.environ.get("SECONDS", "45"))
done = 0
while time.time() < end:
    for glaze, (low, high) in GLAZES.items():
        if time.time() > end:
            break
        width = WIDTHS[done % 9 // 3]
        peak = round(random.uniform(low, high), 2)
        with pool_of((width, peak)):
            soaked, spread = fire(width, peak)
        row = results[glaze, width]
        row["jobs"] += 1
        row["soaked"] += soaked
        row["spread"] += spread
        done += 1
        time.sleep(random.uniform(0.3, 0.9))
    if done % 12 == 0:
        report(done)

report(done)
