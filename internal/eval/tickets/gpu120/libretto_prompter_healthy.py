"""Trains a prompter for opera rehearsals: it learns which words of the libretto follow.
The text is made of phrases that singers repeat, with slips. While it learns, drafts of the prompter are laid by, so
that the rehearsal can go back to the best one of the last seconds when a step spoils it.

ticket: practice
class: none
"""
import math
import os
import time
from dataclasses import dataclass

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.set_num_threads(1)
torch.manual_seed(1791)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_S = 6
DRAFT_EVERY = 2
DRAFTS_S = 6.0
WORDS = 512
LENGTH = 32
BATCH = 8


@dataclass
class Draft:
    at: float
    loss: float
    weights: dict


class Libretto:
    """Phrases of an act; singers repeat them and now and then take a wrong word."""

    def __init__(self, seed):
        self._generator = torch.Generator().manual_seed(seed)
        self._phrases = torch.randint(2, WORDS, (40, LENGTH), generator=self._generator)

    def scene(self):
        which = torch.randint(0, len(self._phrases), (BATCH,), generator=self._generator)
        words = self._phrases[which].clone()
        slips = torch.rand(words.shape, generator=self._generator) < 0.08
        wrong = torch.randint(2, WORDS, words.shape, generator=self._generator)
        return torch.where(slips, wrong, words).to(DEVICE)


def make_prompter():
    config = GPT2Config(
        vocab_size=WORDS,
        n_positions=LENGTH,
        n_embd=128,
        n_layer=2,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=1,
        use_cache=False,
    )
    return GPT2LMHeadModel(config).to(DEVICE)


class DraftBox:
    """The drafts of the last seconds, by the step at which they were made."""

    def __init__(self, model):
        self._model = model
        self._drafts = {}

    def lay_by(self, step, loss):
        now = time.monotonic()
        weights = {name: tensor.detach().clone() for name, tensor in self._model.state_dict().items()}
        self._drafts[step] = Draft(now, loss, weights)
        self._prune(now)

    def _prune(self, now):
        for step in [step for step, draft in self._drafts.items() if now - draft.at > DRAFTS_S]:
            del self._drafts[step]

    def go_back(self):
        self._prune(time.monotonic())
        if not self._drafts:
            return None
        step, best = min(self._drafts.items(), key=lambda item: item[1].loss)
        self._model.load_state_dict(best.weights)
        return step


class Rehearsal:
    def __init__(self):
        self.model = make_prompter()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=5e-4)
        self.drafts = DraftBox(self.model)
        self.steps = 0
        self.returns = 0
        self.loss = math.log(WORDS)

    def step(self, words):
        self.steps += 1
        self.optimizer.zero_grad()
        loss = self.model(input_ids=words, labels=words).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        value = loss.item()
        if not math.isfinite(value):
            self.drafts.go_back()
            self.returns += 1
            return
        self.loss = 0.9 * self.loss + 0.1 * value
        if self.steps % DRAFT_EVERY == 0:
            self.drafts.lay_by(self.steps, value)


def main():
    libretto, rehearsal = Libretto(seed=1786), Rehearsal()
    start = time.monotonic()
    tick = start
    said = start
    while time.monotonic() - start < SECONDS:
        rehearsal.step(libretto.scene())
        if time.monotonic() - said >= 3.0:
            said = time.monotonic()
            print(f"step {rehearsal.steps}: loss {rehearsal.loss:.4f}, went back {rehearsal.returns} times", flush=True)
        tick += 1.0 / ROUNDS_PER_S
        time.sleep(max(0.0, tick - time.monotonic()))
    print(f"curtain after {rehearsal.steps} steps, loss {rehearsal.loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
