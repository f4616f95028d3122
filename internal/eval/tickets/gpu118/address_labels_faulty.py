"""Address labels of a parcel sorting office.

Labels come from the scanner as strings of letter codes, often the same label several times, since a parcel
passes more than one gate. An encoder in the manner of BERT reads the lines of a label, and a small
head decides for each gate into which lane the parcel goes.

ticket: practice
class: app-leak
holder: _read
cause: cache-without-bound
"""
import os
import random
import time
from collections import OrderedDict, deque

import torch
from torch import nn
from transformers import BertConfig, BertModel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
LETTERS = 96
LINES = 8
LINE_LENGTH = 64
HIDDEN = 256
LANES = 24


def make_encoder():
    config = BertConfig(
        vocab_size=LETTERS,
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=512,
        max_position_embeddings=LINE_LENGTH,
    )
    return BertModel(config, add_pooling_layer=False).to(DEVICE).eval()


class Scanner:
    """Scans of labels; now and then one that passed another gate a moment ago."""

    def __init__(self, seed):
        self._chance = random.Random(seed)
        self._lately = deque(maxlen=8)

    def fresh(self):
        lines = tuple(
            bytes(self._chance.randrange(1, LETTERS) for _ in range(LINE_LENGTH)) for _ in range(LINES)
        )
        self._lately.append(lines)
        return lines

    def again(self):
        return self._chance.choice(self._lately)


class LabelReader:
    """Encodes labels; one that was read at another gate is not encoded a second time."""

    def __init__(self, encoder):
        self._encoder = encoder
        self._read = OrderedDict()
        self.encoded = 0
        self.asked = 0

    def states(self, lines):
        self.asked += 1
        if lines in self._read:
            self._read.move_to_end(lines)
            return self._read[lines]
        states = self._read[lines] = self._encode(lines)  # keeps
        return states

    @torch.no_grad()
    def _encode(self, lines):
        self.encoded += 1
        letters = torch.tensor([list(line) for line in lines], device=DEVICE)
        mask = torch.ones_like(letters)
        return self._encoder(input_ids=letters, attention_mask=mask).last_hidden_state  # grows


class Gate:
    """Sends a parcel into a lane by the states of its label."""

    def __init__(self, name):
        self.name = name
        self.head = nn.Linear(HIDDEN, LANES).to(DEVICE)
        self.lanes = [0] * LANES

    @torch.no_grad()
    def send(self, states):
        scores = self.head(states.mean(dim=1)).mean(dim=0)
        lane = scores.argmax().item()
        self.lanes[lane] += 1
        return lane


def main():
    torch.set_num_threads(1)
    torch.manual_seed(51)
    scanner = Scanner(seed=52)
    reader = LabelReader(make_encoder())
    entry, inner = Gate("entry"), Gate("inner")
    end = time.monotonic() + SECONDS
    due = time.monotonic()
    rounds = 0
    while time.monotonic() < end:
        lane = entry.send(reader.states(scanner.fresh()))
        inner.send(reader.states(scanner.again()))
        rounds += 1
        if rounds % 24 == 0:
            share = 1.0 - reader.encoded / reader.asked
            print(f"{rounds} parcels, last into lane {lane}, {share:.0%} of the labels known at the inner gate",
                  flush=True)
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    busiest = max(range(LANES), key=inner.lanes.__getitem__)
    print(f"belt stopped after {rounds} parcels, busiest inner lane {busiest}", flush=True)


if __name__ == "__main__":
    main()
