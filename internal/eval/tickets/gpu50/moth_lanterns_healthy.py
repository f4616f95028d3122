"""Speculative generation with a tree of drafts: a small model proposes a few branches behind the last word, the large
one walks down the branch that it agrees with. Every node of the tree has its hidden states, from which its children
start. The garbage collector is off, as in many servers, so that its pauses do not show up in the latencies.

ticket: practice
class: none
"""

import gc
import os
import random
import time
import weakref

import torch
from torch import nn

WORDS, SMALL, LARGE, LAYERS = 4_000, 256, 512, 4
STREAMS, BRANCHES, DEPTH = 16, 2, 3


class Model(nn.Module):
    """A recurrent language model for all streams at once: one word each in, the likeliest words and its states out."""

    def __init__(self, width):
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.cells = nn.GRU(width, width, LAYERS)
        self.head = nn.Linear(width, WORDS)

    def forward(self, words, states):
        hidden, states = self.cells(self.words(words)[None], states)
        return self.head(hidden[0]), states


class Node:
    """Words (one for each stream) in the tree of drafts, with the states of the small model behind them."""

    def __init__(self, words, states, parent=None):
        self.words, self.states = words, states
        self.parent = parent and weakref.ref(parent)
        self.children = []
        self.depth = 0 if parent is None else parent.depth + 1

    def add(self, words, states):
        self.children.append(Node(words, states, self))
        return self.children[-1]

    def branch(self):
        """The words from the root down to this node."""
        node, words = self, []
        while node.parent is not None:
            words.append(node.words)
            node = node.parent()
        return words[::-1]


def grow(small, node):
    """Drafts the tree below this node, and returns its leaves."""
    if node.depth == DEPTH:
        return [node]
    scores, states = small(node.words, node.states)
    best = scores.topk(BRANCHES, dim=-1).indices
    return [leaf for rank in range(BRANCHES) for leaf in grow(small, node.add(best[:, rank], states))]


def judge(large, root, states, leaves):
    """The leaf whose branch the large model likes best, and the states of that model behind it."""
    best = None
    for leaf in leaves:
        words, after, total = root.words, states, 0.0
        for following in leaf.branch():
            scores, after = large(words, after)
            total += scores.log_softmax(dim=-1).gather(1, following[:, None]).mean().item()
            words = following
        if best is None or total > best[0]:
            best = total, leaf, after
    return best


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    gc.disable()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    small, large = Model(SMALL).to(device).eval(), Model(LARGE).to(device).eval()
    words = torch.randint(WORDS, (STREAMS,), device=device)
    drafted = torch.zeros(LAYERS, STREAMS, SMALL, device=device)
    states = torch.zeros(LAYERS, STREAMS, LARGE, device=device)
    written = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        root = Node(words, drafted)
        leaves = grow(small, root)
        score, leaf, states = judge(large, root, states, leaves)
        words, drafted = leaf.words, leaf.states
        written += DEPTH * STREAMS
        if written % (10 * DEPTH * STREAMS) == 0:
            print(f"{written} words, the last draft scored {score:.2f}", flush=True)
        time.sleep(random.uniform(0.02, 0.08))


if __name__ == "__main__":
    main()
