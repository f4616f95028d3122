"""Announcements in a night train, rated for how much they would disturb sleepers.

The conductor's announcements come as token sequences. A small encoder reads a batch of them, and a head rates how
likely each is to wake somebody; what is rated too high goes to the displays in the corridor instead of the
loudspeakers. At every stop the chief steward gets a summary of the announcements since the last one.

    ticket: practice
    class: none
"""

import os
import time
from dataclasses import dataclass

import torch
from torch import nn
from transformers import BertConfig, BertModel

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
VOCABULARY = 24000
HIDDEN = 256
TOKENS = 16
BATCH = 40
ROUNDS_PER_SECOND = 8
ROUNDS_PER_STOP = 24
TOO_LOUD = 0.55


@dataclass
class Reading:
    """A batch of announcements as the encoder understood it."""

    stop: int
    states: torch.Tensor
    disturbance: float


def build_encoder() -> BertModel:
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=HIDDEN * 2,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return BertModel(config).to(DEVICE).eval()


class Conductor:
    """Speaks: a batch of token sequences, the later words of some of them masked off."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def announce(self) -> tuple[torch.Tensor, torch.Tensor]:
        words = torch.randint(5, VOCABULARY, (BATCH, TOKENS), generator=self.generator)
        lengths = torch.randint(6, TOKENS + 1, (BATCH, 1), generator=self.generator)
        mask = (torch.arange(TOKENS).unsqueeze(0) < lengths).long()
        return words.to(DEVICE), mask.to(DEVICE)


class SleepGuard:
    """Rates the announcements and sums them up at the stops."""

    def __init__(self) -> None:
        self.encoder = build_encoder()
        self.head = nn.Linear(HIDDEN, 1).to(DEVICE).eval()
        self.readings: list[Reading] = []
        self.stop = 0
        self.displayed = 0

    @torch.no_grad()
    def rate(self, words: torch.Tensor, mask: torch.Tensor) -> float:
        encoded = self.encoder(input_ids=words, attention_mask=mask)
        states = encoded.last_hidden_state
        weights = mask.unsqueeze(-1).float()
        pooled = (states * weights).sum(dim=1) / weights.sum(dim=1)
        rating = torch.sigmoid(self.head(pooled)).squeeze(-1)
        self.displayed += int((rating > TOO_LOUD).sum())
        disturbance = float(rating.mean())
        self.readings.append(Reading(self.stop, states, disturbance))
        return disturbance

    @torch.no_grad()
    def arrive(self) -> str:
        since = [reading for reading in self.readings if reading.stop == self.stop]
        spread = sum(float(reading.states.std()) for reading in since) / len(since)
        disturbance = sum(reading.disturbance for reading in since) / len(since)
        summary = f"stop {self.stop}: disturbance {disturbance:.3f}, spread {spread:.3f}, displayed {self.displayed}"
        self.stop += 1
        self.readings = []
        return summary


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(41)
    conductor = Conductor(seed=41)
    guard = SleepGuard()
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        words, mask = conductor.announce()
        guard.rate(words, mask)
        rounds += 1
        if rounds % ROUNDS_PER_STOP == 0:
            print(guard.arrive(), flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"morning: {rounds * BATCH} announcements, {guard.displayed} shown instead of spoken", flush=True)


if __name__ == "__main__":
    main()
