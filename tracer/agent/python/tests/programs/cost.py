"""What the agent adds to a small PyTorch training loop, in percent of its time.

The hook, twice. In the step: short blocks of steps with it and with an empty one,
in turn A B B A, so that what else the machine does falls on both; blocks with a
sample do not count; it is the training thread's processor time, with the hook's
effect on the caches. Alone: the time of the hook itself, where it is called. The
rest is booked: samples at steps, and the agent's own thread.

Usage: cost.py SECONDS [cpu|cuda] [width] [SGD|Adam]
"""

import math
import statistics
import sys
import time

import gpumem_agent
import torch
from torch.optim.optimizer import _global_optimizer_post_hooks as hooks

SECONDS, DEVICE, WIDTH, OPTIMIZER = sys.argv[1:] + ["cpu", "64", "SGD"][len(sys.argv) - 2 :]
SECONDS, WIDTH = float(SECONDS), int(WIDTH)
STEPS = 10  # of a block
WARM_SECONDS = 6.0  # the tracer does not sleep on the socket any more

torch.set_num_threads(1)
agent = gpumem_agent.agent()
net = torch.nn.Sequential(
    torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH)
).to(DEVICE)
optimizer = getattr(torch.optim, OPTIMIZER)(net.parameters(), lr=1e-4)
batch = torch.randn(16 if WIDTH < 1024 else 256, WIDTH, device=DEVICE)
((key, ours),) = hooks.items()
at_step, booked, called = agent._at_step, [], []


def timed(*args):
    begun = time.perf_counter()
    at_step(*args)
    booked.append(time.perf_counter() - begun)


def train(seconds):
    """Trains for so long; returns the seconds of a step."""
    steps, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        block()
        steps += STEPS
    return (time.perf_counter() - begun) / steps


def block(hook=None):
    """Seconds of processor time of a block's steps; None with a sample."""
    if hook is not None:
        hooks[key] = hook
    samples, begun = len(booked), time.thread_time()
    for _ in range(STEPS):
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()
    taken = time.thread_time() - begun
    return taken if len(booked) == samples else None


def empty(optimizer, args, kwargs):
    pass


def other(optimizer, args, kwargs):
    """Empty, too: each block begins with a hook that the interpreter is new to."""


def alone(*args):
    samples, begun = len(booked), time.perf_counter()
    ours(*args)
    taken = time.perf_counter() - begun
    if len(booked) == samples:
        called.append(taken)


def nothing(*args):
    """What alone costs by itself."""
    samples, begun = len(booked), time.perf_counter()
    other(*args)
    taken = time.perf_counter() - begun
    if len(booked) == samples:
        called.append(taken)


def typical(hook):
    """The median time of a hook where it is called."""
    called.clear()
    hooks[key] = hook
    train(SECONDS / 8)
    return statistics.median(called)


def interval(values):
    """The median and its 95 % interval, by ranks."""
    values, count = sorted(values), len(values)
    rank = max(0, math.floor(count / 2 - 0.98 * math.sqrt(count)))
    return statistics.median(values), values[rank], values[-1 - rank]


def differences(step):
    """What the hook adds to a step, by pairs of blocks, as shares of its time."""
    shares, begun = [], time.perf_counter()
    while time.perf_counter() - begun < SECONDS:
        block(empty)  # after a sample the caches are cold
        a, b, b_again, a_again = block(ours), block(empty), block(other), block(ours)
        pairs = (a, b), (a_again, b_again)
        shares += [(with_us - without) / STEPS / step for with_us, without in pairs if with_us]
    return shares


train(WARM_SECONDS)
agent._at_step = timed
clock = time.pthread_getcpuclockid(agent.sampler._identity)
thread, begun = time.clock_gettime(clock), time.perf_counter()
step = train(SECONDS)
wall = time.perf_counter() - begun
thread, samples = time.clock_gettime(clock) - thread, list(booked)
print("step-µs", step * 1e6)
print("samples/s sample-µs", len(samples) / wall, statistics.median(samples) * 1e6)
print("samples-% thread-%", 100 * sum(samples) / wall, 100 * thread / wall)
print("hook-% hook-low-% hook-high-%", *(100 * share for share in interval(differences(step))))
hook = typical(alone) - typical(nothing)
print("hook-alone-ns hook-alone-%", hook * 1e9, 100 * hook / step)
