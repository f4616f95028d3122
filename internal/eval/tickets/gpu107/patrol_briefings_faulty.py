"""Morning briefings for a ski patrol, drafted by a small language model.

Every sector of the resort sends its observations as tokens: wind, new snow, what the blasting has brought down.
The model drafts the briefings of four sectors at a time, shorter on calm days and longer after a storm. For
every draft it is noted how sure the model was of each word, and after each watch the chief of the patrol gets a
summary of the doubtful ones.

ticket: practice
class: app-leak
holder: _drafts
cause: results-kept
"""

import os
import random
import time
from dataclasses import dataclass

import torch
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
VOCABULARY = 8192
SECTORS_AT_A_TIME = 4
DRAFTS_A_WATCH = 8
PAUSE = 0.2
PAD, END = 0, 1


@dataclass
class Draft:
    """The briefings of four sectors, with the scores of all words at every place."""

    number: int
    tokens: torch.Tensor
    scores: tuple

    def sureness(self):
        """Mean probability of the likeliest word, over places and sectors."""
        best = [torch.softmax(step.float(), dim=-1).max(dim=-1).values.mean() for step in self.scores]
        return float(torch.stack(best).mean())


class Sectors:
    """Makes up the observations of the morning."""

    def __init__(self, seed):
        self.dice = random.Random(seed)

    def observations(self):
        length = self.dice.randrange(8, 40)
        rows = [[self.dice.randrange(2, VOCABULARY) for _ in range(length)] for _ in range(SECTORS_AT_A_TIME)]
        return torch.tensor(rows, device=DEVICE)

    def words_wanted(self):
        storm = self.dice.random() < 0.3
        return self.dice.randrange(24, 36) if storm else self.dice.randrange(12, 24)


def build_model(seed):
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=128,
        n_embd=128,
        n_layer=2,
        n_head=4,
        bos_token_id=END,
        eos_token_id=END,
        pad_token_id=PAD,
    )
    return GPT2LMHeadModel(config).to(DEVICE).eval()


class BriefingOffice:
    """Drafts the briefings and sums them up after each watch."""

    def __init__(self, model, sectors):
        self.model = model
        self.sectors = sectors
        self._drafts = []
        self.written = 0
        self.watches = 0

    @torch.no_grad()
    def write(self):
        observations = self.sectors.observations()
        words = self.sectors.words_wanted()
        settings = GenerationConfig(
            max_new_tokens=words,
            min_new_tokens=words,
            do_sample=True,
            top_k=50,
            bos_token_id=END,
            eos_token_id=END,
            pad_token_id=PAD,
            return_dict_in_generate=True,
            output_scores=True,
        )
        mask = torch.ones_like(observations)
        output = self.model.generate(observations, attention_mask=mask, generation_config=settings)  # grows
        self.written += 1
        self._drafts.append(Draft(self.written, output.sequences, output.scores))  # keeps
        return output.sequences.shape[1]

    def watch_over(self):
        return self.written % DRAFTS_A_WATCH == 0

    def summary(self):
        """Number and sureness of the most doubtful draft of the watch."""
        self.watches += 1
        sure = {draft.number: draft.sureness() for draft in self._drafts[-DRAFTS_A_WATCH:]}
        doubtful = min(sure, key=sure.get)
        return doubtful, sure[doubtful]


def main():
    office = BriefingOffice(build_model(seed=1928), Sectors(seed=28))
    length = 0
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        length = office.write()
        if office.watch_over():
            number, sureness = office.summary()
            print(f"watch {office.watches}: draft {number} is the most doubtful, {sureness:.3f}", flush=True)
        time.sleep(PAUSE)
    print(f"{office.written} drafts written, the last one of {length} tokens", flush=True)


if __name__ == "__main__":
    main()
