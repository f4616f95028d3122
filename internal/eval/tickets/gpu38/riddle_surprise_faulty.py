"""A language model answers riddles, four at once, and draws how sure it was of each word: the entropy of its choice
goes below the answer as a line of bars. To get at the choices, a logits processor watches the generation.

ticket: practice
class: host-growth
holder: watch SurpriseWatch rows
cause: results-kept buffer-without-bound
"""

import os
import random
import time

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LogitsProcessor, LogitsProcessorList

WORDS, RIDDLES, ANSWER = 8000, 4, 20
LENGTHS = (8, 12, 16)
BARS = "▁▂▃▄▅▆▇█"


class SurpriseWatch(LogitsProcessor):
    """Takes note of the scores of each word that is chosen. It does not change them."""

    def __init__(self):
        self.rows = []

    def __call__(self, input_ids, scores):
        self.rows.append(scores.float().cpu().numpy())  # grows keeps
        return scores

    def entropies(self):
        """For each riddle the entropy of each word of the latest answer, as a share of the most there can be."""
        scores = np.stack(self.rows[-ANSWER:], axis=1)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return -(shares * np.log(shares + 1e-12)).sum(axis=-1) / np.log(WORDS)


def build(device):
    config = GPT2Config(
        vocab_size=WORDS, n_positions=64, n_embd=128, n_layer=2, n_head=4,
        bos_token_id=1, eos_token_id=2, pad_token_id=0, initializer_range=0.2,
    )
    return GPT2LMHeadModel(config).to(device).eval()


def ask(device):
    """Riddles of one length."""
    return torch.randint(3, WORDS, (RIDDLES, random.choice(LENGTHS)), device=device)


def answer(model, riddles, watch):
    tokens = model.generate(
        riddles,
        attention_mask=torch.ones_like(riddles),
        min_new_tokens=ANSWER,
        max_new_tokens=ANSWER,
        do_sample=True,
        pad_token_id=0,
        logits_processor=LogitsProcessorList([watch]),
    )
    return tokens[:, riddles.shape[1] :]


def draw(entropies):
    return "".join(BARS[min(int(share * len(BARS)), len(BARS) - 1)] for share in entropies)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, rounds, sure = build(device), 0, 0.0
    watch = SurpriseWatch()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        tokens = answer(model, ask(device), watch)
        entropies = watch.entropies()
        sure += 1 - entropies.mean()
        rounds += 1
        if rounds % 10 == 0:
            words = " ".join(str(word) for word in tokens[0].tolist()[:8])
            print(f"{rounds * RIDDLES} riddles, sure {sure / rounds:.3f}: {words} {draw(entropies[0])}", flush=True)
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
