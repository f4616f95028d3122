"""What the agent adds to a small PyTorch training loop, in percent of its time.

What runs on the training thread is booked where it runs: samples at steps, and the
hook, by the time between its first line and its last; so is the agent's own thread,
by its processor time. What is too brief to be booked, and the hook's effect on the
processor's caches, is in the last line: short blocks of steps with the agent's
dictionary of hooks and with an empty one, in turn A B B A, so that what else the
machine does falls on both; blocks with a sample do not count.

Usage: cost.py SECONDS [cpu|cuda] [width] [SGD|Adam]
"""

import gc
import math
import statistics
import sys
import time
from collections import OrderedDict

import gpumem_agent
import torch
from torch.optim import optimizer as module

SECONDS, DEVICE, WIDTH, OPTIMIZER = sys.argv[1:] + ["cpu", "64", "SGD"][len(sys.argv) - 2 :]
SECONDS, WIDTH = float(SECONDS), int(WIDTH)
STEPS = 10  # of a block
WARM_SECONDS = 6.0  # the tracer does not sleep on the socket any more
HOOKS = "_global_optimizer_post_hooks"

torch.set_num_threads(1)
agent = gpumem_agent.agent()
net = torch.nn.Sequential(
    torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH)
).to(DEVICE)
optimizer = getattr(torch.optim, OPTIMIZER)(net.parameters(), lr=1e-4)
batch = torch.randn(16 if WIDTH < 1024 else 256, WIDTH, device=DEVICE)
samples, hooks = [], []  # what was booked, in seconds


def book(owner, name, times):
    """Books each call of a method of owner's."""
    method = getattr(owner, name)

    def timed(*args):
        begun = time.perf_counter()
        try:
            return method(*args)
        finally:
            times.append(time.perf_counter() - begun)

    setattr(owner, name, timed)


def train(seconds):
    """Trains for so long; returns the seconds of a step."""
    steps, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        block()
        steps += STEPS
    return (time.perf_counter() - begun) / steps


def block(hooks=None):
    """Seconds of processor time of a block's steps; None with a sample."""
    if hooks is not None:
        setattr(module, HOOKS, hooks)
    before, begun = len(samples), time.thread_time()
    for _ in range(STEPS):
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()
    taken = time.thread_time() - begun
    return taken if len(samples) == before else None


def interval(values):
    """The median and its 95 % interval, by ranks."""
    values, count = sorted(values), len(values)
    rank = max(0, math.floor(count / 2 - 0.98 * math.sqrt(count)))
    return statistics.median(values), values[rank], values[-1 - rank]


def differences(step):
    """What the hook adds to a step, by pairs of blocks, as shares of its time."""
    ours, none, other = getattr(module, HOOKS), OrderedDict(), OrderedDict()
    shares, begun = [], time.perf_counter()
    while time.perf_counter() - begun < SECONDS:
        block(none)  # after a sample the caches are cold
        a, b, b_again, a_again = block(ours), block(none), block(other), block(ours)
        pairs = (a, b), (a_again, b_again)
        shares += [(with_us - without) / STEPS / step for with_us, without in pairs if with_us]
    return shares


train(WARM_SECONDS)
(hook,) = [o for o in gc.get_objects() if type(o).__name__ == "StepHook"]
book(agent, "_at_step", samples)
book(hook, "_values", hooks)
book(hook, "_after_step", hooks)
clock = time.pthread_getcpuclockid(agent.sampler._identity)
counted, thread, begun = agent.steps.count, time.clock_gettime(clock), time.perf_counter()
step = train(SECONDS)
wall = time.perf_counter() - begun
thread = time.clock_gettime(clock) - thread
figures = sum(samples), sum(hooks) - sum(samples), thread
print("step-µs steps/s", step * 1e6, (agent.steps.count - counted) / wall)
print("samples/s sample-µs", len(samples) / wall, statistics.median(samples) * 1e6)
print("samples-% hook-% thread-% sum-%", *(100 * f / wall for f in (*figures, sum(figures))))
print("step-% step-low-% step-high-%", *(100 * share for share in interval(differences(step))))
