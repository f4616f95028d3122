"""A small training loop that times itself: what a tracer costs shows in its figure.

Usage: loop.py [--steps 4000]; prints "seconds N" of the loop without start-up.
"""

import argparse
import time

import torch


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4000)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    x = torch.randn(256, 1024, device="cuda")

    def run(n):
        for _ in range(n):
            loss = net(x).square().mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        torch.cuda.synchronize()

    run(200)
    start = time.perf_counter()
    run(steps)
    print(f"seconds {time.perf_counter() - start:.4f}")


main()
