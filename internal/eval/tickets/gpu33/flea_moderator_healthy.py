"""Moderates the adverts of an online flea market. A small BERT rates adverts in batches as they come; what it saw in
them, the hidden states of its last layer, goes to the archive with the rating, so that appeals can be heard. The
archive is written in the background; the rating waits when it is far behind.

ticket: practice
class: none
"""

import hashlib
import os
import queue
import random
import threading
import time

import torch
from transformers import BertConfig, BertForSequenceClassification

WORDS, BATCH, LENGTH, WIDTH = 4_000, 16, 96, 192
WRITE = 0.35  # seconds that the store takes for a bundle


class Archive:
    def __init__(self):
        self.shelf = queue.Queue(maxsize=8)
        self.written, self.digest = 0, hashlib.sha256()
        threading.Thread(target=self.write, daemon=True).start()

    def add(self, ratings, states):
        self.shelf.put((ratings, states))

    def write(self):
        while True:
            ratings, states = self.shelf.get()
            self.digest.update(states.tobytes())
            time.sleep(WRITE)
            self.written += len(ratings)
            del ratings, states


def build():
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=384,
        max_position_embeddings=LENGTH,
        num_labels=3,
    )
    return BertForSequenceClassification(config).eval()


def adverts():
    """A batch of adverts as tokens, with the mask of their lengths."""
    lengths = torch.randint(LENGTH // 3, LENGTH + 1, (BATCH, 1))
    mask = (torch.arange(LENGTH) < lengths).long()
    return torch.randint(1, WORDS, (BATCH, LENGTH)) * mask, mask


@torch.inference_mode()
def rate(model, tokens, mask):
    seen = model(input_ids=tokens, attention_mask=mask, output_hidden_states=True)
    states = seen.hidden_states[-1].float().cpu().numpy()
    return seen.logits.softmax(dim=1).tolist(), states


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, archive = build().to(device), Archive()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    batches = refused = 0
    while time.time() < end:
        tokens, mask = adverts()
        ratings, states = rate(model, tokens.to(device), mask.to(device))
        refused += sum(max(rating) == rating[2] for rating in ratings)
        archive.add(ratings, states)
        batches += 1
        if batches % 20 == 0:
            print(f"{batches * BATCH} adverts, {refused} refused, {archive.written} in the archive", flush=True)
        time.sleep(random.uniform(0.04, 0.12))
    print("digest", archive.digest.hexdigest()[:12])


if __name__ == "__main__":
    main()
