"""Reads the diaries of zoo keepers with a small encoder.

Keepers write short notes about their animals. The notes of a day come in batches of twelve; a BERT encoder, made here
with random weights, turns every word of them into a vector. At the end of a day the words are compared with those of
the day before, so that the head keeper sees in which house the tone has changed. A day lasts two seconds.

ticket: practice
class: none
"""
import os
import random
import time
from collections import defaultdict

import torch
from transformers import BertConfig, BertModel

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
BATCHES_PER_SECOND = 8
BATCHES_PER_DAY = 16
NOTES, WORDS, WIDTH = 12, 64, 256
HOUSES = ("apes", "birds", "cats", "elephants", "reptiles", "seals")
VOCABULARY = 600
PAD, START, END = 0, 1, 2


class NoteWriter:
    """Writes notes whose words depend on the house and on how the day goes there."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._mood = {house: 0.5 for house in HOUSES}

    def new_day(self):
        for house in HOUSES:
            moved = self._mood[house] + self._random.gauss(0.0, 0.15)
            self._mood[house] = min(1.0, max(0.0, moved))

    def _note(self, house):
        base = 10 + 90 * HOUSES.index(house)
        length = self._random.randint(WORDS // 2, WORDS - 2)
        calm = self._mood[house]
        kinds = [0 if self._random.random() < calm else 45 for _ in range(length)]
        words = [base + kind + self._random.randrange(45) for kind in kinds]
        return [START, *words, END] + [PAD] * (WORDS - 2 - length)

    def batch(self):
        notes = [self._note(HOUSES[index % len(HOUSES)]) for index in range(NOTES)]
        return torch.tensor(notes, device=DEVICE)


def make_encoder(seed):
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=512,
        max_position_embeddings=WORDS,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=PAD,
    )
    return BertModel(config, add_pooling_layer=False).to(DEVICE).eval()


class DiaryReader:
    def __init__(self, encoder):
        self.encoder = encoder
        self.days = defaultdict(list)
        self.notes_read = 0

    @torch.no_grad()
    def read(self, day, notes):
        output = self.encoder(input_ids=notes, attention_mask=(notes != PAD).long())
        self.days[day].append(output.last_hidden_state)
        self.notes_read += notes.shape[0]
        self.days.pop(day - 2, None)

    def tone(self, day):
        """Mean vector of each house on that day."""
        total = torch.zeros(len(HOUSES), WIDTH, device=DEVICE)
        for hidden in self.days[day]:
            total += hidden.mean(dim=1).view(-1, len(HOUSES), WIDTH).mean(dim=0)
        return total / len(self.days[day])

    def compare(self, day):
        """How far the tone of each house has moved since the day before."""
        moved = 1.0 - torch.nn.functional.cosine_similarity(self.tone(day), self.tone(day - 1), dim=1)
        house = int(moved.argmax())
        return HOUSES[house], moved[house].item()


def main():
    writer = NoteWriter(seed=14)
    reader = DiaryReader(make_encoder(seed=15))
    started = time.monotonic()
    batches = 0
    while time.monotonic() - started < SECONDS:
        day, within = divmod(batches, BATCHES_PER_DAY)
        reader.read(day, writer.batch())
        batches += 1
        if within == BATCHES_PER_DAY - 1:
            writer.new_day()
            if day > 0:
                house, moved = reader.compare(day)
                print(f"day {day}: {reader.notes_read} notes, most moved {house} by {moved:.5f}", flush=True)
        time.sleep(max(0.0, started + batches / BATCHES_PER_SECOND - time.monotonic()))
    print(f"diaries closed after {reader.notes_read} notes", flush=True)


if __name__ == "__main__":
    main()
