"""Legends in a map room.

Old sheets carry legends in many hands and many words. A small encoder turns the lines of a legend into vectors, and the
catalogue compares them with the standard signs to say which sign each line means. Clerks correct the transcripts
through the day, so that a sheet is read again in a new edition; a sheet is often asked for twice in a row.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from transformers import BertConfig, BertModel

torch.set_num_threads(1)
torch.manual_seed(54)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
WORDS = 800
LINES, LENGTH, WIDTH = 16, 64, 256
SIGNS = 40
SHEETS = 16
ROUNDS_A_SECOND = 6


def make_encoder():
    """A small encoder with weights at random."""
    config = BertConfig(vocab_size=WORDS, hidden_size=WIDTH, num_hidden_layers=3, num_attention_heads=4,
                        intermediate_size=512, max_position_embeddings=LENGTH)
    return BertModel(config, add_pooling_layer=False).to(DEVICE).eval()


class Transcripts:
    """The words of each legend, and the edition in which they stand."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.words = [torch.randint(1, WORDS, (LINES, LENGTH), generator=self.generator) for _ in range(SHEETS)]
        self.editions = [1] * SHEETS
        self.corrected = 0

    def correct(self):
        """The clerks go through the sheets in turn; each correction makes a new edition."""
        sheet = self.corrected % SHEETS
        self.corrected += 1
        line = self.rng.randrange(LINES)
        self.words[sheet][line, :8] = torch.randint(1, WORDS, (8,), generator=self.generator)
        self.editions[sheet] += 1
        return sheet


class LegendReader:
    """Vectors of legend lines by sheet and edition."""

    def __init__(self, transcripts):
        self.transcripts = transcripts
        self.encoder = make_encoder()
        self._encoded = {}
        self.hits = 0
        self.misses = 0

    @torch.no_grad()
    def vectors(self, sheet):
        key = (sheet, self.transcripts.editions[sheet])
        if key in self._encoded:
            self.hits += 1
            return self._encoded[key]
        self.misses += 1
        words = self.transcripts.words[sheet].to(DEVICE)
        states = self.encoder(input_ids=words, attention_mask=torch.ones_like(words)).last_hidden_state
        self._encoded[key] = states
        self._forget(sheet)
        return states

    def _forget(self, sheet):
        """Nobody asks for the last edition once there is a new one."""
        self._encoded.pop((sheet, self.transcripts.editions[sheet] - 1), None)


class Catalogue:
    """The standard signs, and how often each was met."""

    def __init__(self):
        self.signs = torch.nn.functional.normalize(torch.randn(SIGNS, WIDTH, device=DEVICE), dim=1)
        self.met = [0] * SIGNS

    def match(self, states):
        """The sign of each line by the mean of its words."""
        lines = torch.nn.functional.normalize(states.mean(dim=1), dim=1)
        nearest = (lines @ self.signs.t()).argmax(dim=1).tolist()
        for sign in nearest:
            self.met[sign] += 1
        return nearest


def main():
    transcripts = Transcripts(seed=26)
    reader = LegendReader(transcripts)
    catalogue = Catalogue()
    started = time.monotonic()
    reported = started
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        sheet = transcripts.correct()
        for _ in range(2):
            nearest = catalogue.match(reader.vectors(sheet))
        if begun - reported > 3.0:
            reported = begun
            print(f"sheet {sheet}, edition {transcripts.editions[sheet]}: first line is sign {nearest[0]}, "
                  f"{reader.hits} of {reader.hits + reader.misses} from the shelf", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - begun)))
    common = max(range(SIGNS), key=catalogue.met.__getitem__)
    print(f"room closes: sign {common} met {catalogue.met[common]} times", flush=True)


if __name__ == "__main__":
    main()
