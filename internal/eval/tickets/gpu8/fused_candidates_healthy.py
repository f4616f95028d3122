"""A search for a quick picture network: each candidate is traced with torch.fx, its normings are folded into the layers
before them one by one, and it is timed. The text of its graphs, kept by fx for tracebacks, is then cleared away.

ticket: practice
class: none
"""

import collections
import linecache
import os
import random
import time

import torch
from torch import fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval


class Block(nn.Module):
    """A layer with norming; adds its input where it may."""

    def __init__(self, into, out, kernel, stride):
        super().__init__()
        self.convolution = nn.Conv2d(into, out, kernel, stride, kernel // 2, bias=False)
        self.norming = nn.BatchNorm2d(out)
        self.adds = into == out and stride == 1

    def forward(self, inputs):
        hidden = torch.relu(self.norming(self.convolution(inputs)))
        return hidden + inputs if self.adds else hidden


def candidate():
    """A network of three stages, of depths and kinds of layers by chance."""
    blocks, into = collections.OrderedDict(), 3
    for stage in range(3):
        out = 12 * (stage + 1)
        for i in range(random.randint(8, 16)):
            block = Block(into, out, random.choice((1, 3)), 2 if i == 0 else 1)
            blocks[f"stage{stage}_block{i:02d}"] = block
            into = out
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(into, 10))
    return nn.Sequential(collections.OrderedDict(backbone=nn.Sequential(blocks), head=head))


def fold(model):
    """The model with each norming folded into the layer before it."""
    traced = fx.symbolic_trace(model.eval())
    parts = dict(traced.named_modules())
    for node in list(traced.graph.nodes):
        if node.op != "call_module" or not isinstance(parts[node.target], nn.BatchNorm2d):
            continue
        before = node.args[0]
        parent, _, name = before.target.rpartition(".")
        setattr(parts[parent], name, fuse_conv_bn_eval(parts[before.target], parts[node.target]))
        node.replace_all_uses_with(before)
        traced.graph.erase_node(node)
        traced.recompile()
    traced.delete_all_unused_submodules()
    return traced


@torch.inference_mode()
def measure(model, device, size, times=4):
    pictures = torch.randn(4, 3, size, size, device=device)
    model(pictures)
    start = time.perf_counter()
    for _ in range(times):
        spread = float(model(pictures).std())
    return (time.perf_counter() - start) / times, spread


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    quickest, seen = (float("inf"), 0), 0
    while time.time() < end:
        model = candidate().to(device)
        with torch.no_grad():
            model.train()(torch.randn(4, 3, 64, 64, device=device))
        folded = fold(model)
        took, spread = measure(folded, device, 64)
        weights = sum(weight.numel() for weight in folded.parameters())
        quickest = min(quickest, (took, weights))
        fx.graph_module._loader.eval_cache.clear()
        linecache.clearcache()
        seen += 1
        if seen % 15 == 0:
            print(seen, "candidates; spread", round(spread, 3), "quickest", round(1e3 * quickest[0], 2), "ms with",
                  quickest[1], "weights", flush=True)
        time.sleep(random.uniform(0.01, 0.04))


if __name__ == "__main__":
    main()
