"""Which words does a language model take for the words of a proverb? The model reads proverbs, and a worker beside it
ranks the whole vocabulary for every place, so that the device need not wait. The words that it ranked before the right
one are counted, and the most frequent of them are shown.

ticket: practice
class: host-growth
holder: futures Future _result
cause: futures-kept results-kept
"""

import os
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

VOCABULARY, LENGTH, PROVERBS, SHOWN = 4_000, 24, 6, 10


def make_model(device):
    config = GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=128, n_layer=2, n_head=4,
                        bos_token_id=0, eos_token_id=0)
    return GPT2LMHeadModel(config).to(device).eval()


def read_proverbs():
    """Proverbs as tokens; frequent words have small numbers."""
    ranks = np.random.zipf(1.3, (PROVERBS, LENGTH))
    return torch.from_numpy(np.minimum(ranks, VOCABULARY - 1).astype(np.int64))


@torch.no_grad()
def predict(model, tokens):
    """The logits of every next word, on the host."""
    return model(input_ids=tokens).logits[:, :-1].float().flatten(0, 1).cpu().numpy()


def rank(logits, targets):
    """The likeliest words of each place, and whether the right one is among them."""
    order = np.argsort(-logits, axis=1)  # grows
    first = order[:, :SHOWN]
    return first, (first == targets[:, None]).any(axis=1)


class Mistakes:
    """Counts the words that were ranked first instead of the right ones."""

    def __init__(self):
        self.futures = []
        self.words, self.right, self.places = Counter(), 0, 0

    def add(self, future):
        self.futures.append(future)  # keeps

    def count(self):
        self.words.clear()
        self.right = self.places = 0
        for future in self.futures:
            first, found = future.result()
            self.words.update(first[~found].flatten().tolist())
            self.right += int(found.sum())
            self.places += len(found)

    def __str__(self):
        common = ", ".join(f"{word} ({times})" for word, times in self.words.most_common(3))
        return f"{self.right / max(self.places, 1):.3f} found, most mistaken: {common}"


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, mistakes, batches = make_model(device), Mistakes(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with ThreadPoolExecutor(max_workers=1) as worker:
        while time.time() < end:
            tokens = read_proverbs()
            logits = predict(model, tokens.to(device))
            mistakes.add(worker.submit(rank, logits, tokens[:, 1:].flatten().numpy()))
            batches += 1
            if batches % 5 == 0:
                mistakes.count()
                print(f"{batches} batches:", mistakes, flush=True)
            time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
