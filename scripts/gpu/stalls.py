"""A training loop that waits for nothing, and how long its turns took.

Usage: stalls.py SECONDS flat|list. With list it keeps 9 MiB a second of tensors. At
its end it prints the turns, the median turn, and what the slow turns (more than 1.8
times the median) took beyond the median: that is how long the loop stood still.
"""

import statistics
import sys
import time

import torch

WARM = 1  # turns, in which the first kernels are loaded
CALM = 1.8  # a turn of more medians than this is a slow one
KEPT_MIB = 9  # a second, with list


def model(device):
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
    net = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).to(device)
    return net, torch.optim.AdamW(net.parameters(), lr=1e-4)


def main(seconds, keeps):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(1)
    net, optimizer = model(device)
    batch = torch.randn(2, 16, 64, device=device)
    kept, turns = [], []
    begin = before = time.perf_counter()
    while before - begin < seconds:
        optimizer.zero_grad()
        loss = net(batch).square().mean()
        loss.backward()
        optimizer.step()
        loss.item()
        if keeps and len(kept) * 0.25 < (before - begin) * KEPT_MIB:
            kept.append(torch.ones(1 << 16, device=device))
        now = time.perf_counter()
        turns.append(now - before)
        before = now
    del turns[:WARM]
    median = statistics.median(turns)
    lost = sum(t - median for t in turns if t > CALM * median)
    print(f"turns {len(turns)} median {median * 1e3:.2f} ms, stood still {lost * 1e3:.0f} ms, "
          f"{100 * lost / seconds:.2f} %, longest {max(turns) * 1e3:.0f} ms")


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2] == "list")
