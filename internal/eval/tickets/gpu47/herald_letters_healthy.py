"""Letters to a newspaper are sorted to its desks by a small BERT. Logging is quiet, but a recorder in memory takes the
debug records with what the model saw, forty of them. When the choice of a desk was too close, the newest are printed.

ticket: practice
class: none
"""

import logging
import os
import random
import time
from collections import Counter
from logging.handlers import MemoryHandler

import torch
from torch import nn
from transformers import BertConfig, BertModel

WORDS, WIDTH, BATCH = 8_000, 192, 12
DESKS = "politics", "sport", "arts", "crosswords", "complaints"

log = logging.getLogger("herald")
log.setLevel(logging.DEBUG)
log.propagate = False
recorder = MemoryHandler(capacity=40, flushLevel=logging.ERROR, target=logging.NullHandler())
log.addHandler(recorder)


class Desks(nn.Module):
    def __init__(self):
        super().__init__()
        config = BertConfig(
            vocab_size=WORDS, hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=4, intermediate_size=384,
            max_position_embeddings=128,
        )
        self.bert = BertModel(config, add_pooling_layer=False)
        self.choose = nn.Linear(WIDTH, len(DESKS))

    def forward(self, tokens, mask):
        states = self.bert(input_ids=tokens, attention_mask=mask).last_hidden_state
        weights = mask[:, :, None].to(states.dtype)
        return self.choose((states * weights).sum(1) / weights.sum(1)), states


def post():
    """A batch of letters, padded to the longest."""
    lengths = torch.randint(30, 90, (BATCH,))
    lengths[0] = 90
    mask = (torch.arange(90) < lengths[:, None]).long()
    return torch.randint(1, WORDS, (BATCH, 90)) * mask, mask


@torch.no_grad()
def sort(model, number, device):
    """The desk of each letter, and the smallest lead of a first choice over its second."""
    tokens, mask = post()
    scores, states = model(tokens.to(device), mask.to(device))
    states = states.cpu().numpy()
    log.debug("batch %d: %d words, states %s", number, int(mask.sum()), states)
    best = scores.softmax(dim=1).topk(2, dim=1)
    lead = (best.values[:, 0] - best.values[:, 1]).min().item()
    log.debug("batch %d: smallest lead %.5f", number, lead)
    return [DESKS[desk] for desk in best.indices[:, 0].tolist()], lead


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, sorted_to = Desks().to(device).eval(), Counter()
    number = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        desks, lead = sort(model, number, device)
        sorted_to.update(desks)
        number += 1
        if lead < 1e-4:
            print("too close:", *(record.getMessage()[:60] for record in recorder.buffer[-2:]), sep="\n  ")
        if number % 25 == 0:
            print(number, "batches:", dict(sorted_to), flush=True)
        time.sleep(random.uniform(0.04, 0.12))


if __name__ == "__main__":
    main()
