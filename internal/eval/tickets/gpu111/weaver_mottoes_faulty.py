"""A tapestry workshop weaves a motto into the border of each panel. A small language model over the workshop's own
word list drafts mottoes from the panel's motifs; the drafts for a panel are ranked by how sure the model was of its
words, and the best one goes to the weavers together with the words it wavered on.

ticket: practice
class: app-leak
holder: drafts
cause: results-kept
"""
import os
import time
from dataclasses import dataclass

import torch
from transformers import GPT2Config, GPT2LMHeadModel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WORDS = 4096
PAD, END, START = 0, 1, 2
MOTIFS = 6
MOTTO_WORDS = 12
BATCH = 6
ROUNDS_PER_PANEL = 5
PAUSE = 0.2
FLOOR = -20.0


@dataclass
class Draft:
    """The mottoes of one round and what the model thought of every word at each place."""
    panel: int
    words: torch.Tensor
    logprobs: torch.Tensor

    def sureness(self):
        chosen = self.logprobs.gather(2, self.words.unsqueeze(2)).squeeze(2)
        return chosen.clamp(min=FLOOR).mean(dim=1)

    def wavering(self, row):
        """The place of the motto where the two best words were closest together."""
        best = self.logprobs[row].topk(2, dim=1).values.clamp(min=FLOOR)
        return int((best[:, 0] - best[:, 1]).argmin())


@dataclass
class Choice:
    panel: int
    words: list
    sureness: float
    wavers_at: int


def build_model():
    config = GPT2Config(
        vocab_size=WORDS,
        n_positions=64,
        n_embd=96,
        n_layer=2,
        n_head=4,
        pad_token_id=PAD,
        eos_token_id=END,
        bos_token_id=START,
    )
    return GPT2LMHeadModel(config).to(DEVICE).eval()


class MottoDesk:
    """Drafts mottoes for the panels and chooses one for each."""

    def __init__(self, model, seed):
        self.model = model
        self.generator = torch.Generator().manual_seed(seed)
        self.drafts = []
        self.panel = 0

    def open_panel(self):
        self.panel += 1
        motifs = torch.randint(3, WORDS, (MOTIFS,), generator=self.generator)
        return torch.cat([torch.tensor([START]), motifs]).to(DEVICE)

    def draft(self, prompt):
        input_ids = prompt.unsqueeze(0).repeat(BATCH, 1)
        outputs = self.model.generate(
            input_ids=input_ids,
            attention_mask=torch.ones_like(input_ids),
            max_new_tokens=MOTTO_WORDS,
            do_sample=True,
            pad_token_id=PAD,
            return_dict_in_generate=True,
            output_scores=True,
        )
        words = outputs.sequences[:, input_ids.shape[1]:]
        logprobs = torch.stack(outputs.scores, dim=1).log_softmax(dim=2)  # grows
        self.drafts.append(Draft(self.panel, words, logprobs))  # keeps

    def choose(self):
        best = None
        for draft in self.drafts[-ROUNDS_PER_PANEL:]:
            sureness = draft.sureness()
            row = int(sureness.argmax())
            if best is None or float(sureness[row]) > best.sureness:
                best = Choice(self.panel, draft.words[row].tolist(), float(sureness[row]), draft.wavering(row))
        return best


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    torch.set_num_threads(1)
    torch.manual_seed(2026)
    desk = MottoDesk(build_model(), seed=2027)
    until = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < until:
        prompt = desk.open_panel()
        for _ in range(ROUNDS_PER_PANEL):
            desk.draft(prompt)
            rounds += 1
            time.sleep(PAUSE)
        choice = desk.choose()
        if choice.panel % 2 == 0:
            motto = " ".join(f"w{word}" for word in choice.words[:5])
            print(f"panel {choice.panel}: {motto} ... sureness {choice.sureness:.3f}, "
                  f"wavers at word {choice.wavers_at}", flush=True)
    print(f"{desk.panel} panels have their motto after {rounds} rounds of drafts", flush=True)


if __name__ == "__main__":
    main()
