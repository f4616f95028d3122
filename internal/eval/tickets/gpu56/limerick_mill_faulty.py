"""Samples limericks from a small GPT-2. So that the tone does not jump about, each word is drawn from a distribution
that leans towards those of the last eight steps. The mill turns on and on; the share of different words in a batch of
limericks is printed.

ticket: practice
class: app-leak
holder: recent Tone logits_processor
cause: results-kept buffer-without-bound
"""

import os
import random
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LogitsProcessor, LogitsProcessorList

WORDS, LIMERICKS, LENGTH = 12_000, 8, 30


class Tone(LogitsProcessor):
    """Leans each distribution towards the mean of the last ones."""

    def __init__(self, span, weight):
        self.span, self.weight = span, weight
        self.recent = []

    def __call__(self, input_ids, scores):
        probs = torch.softmax(scores, dim=-1)  # grows
        self.recent.append(probs)  # keeps
        tone = torch.stack(self.recent[-self.span :]).mean(dim=0)
        return scores + self.weight * torch.log(tone + 1e-9)


class Mill:
    def __init__(self, device):
        config = GPT2Config(
            vocab_size=WORDS,
            n_positions=64,
            n_embd=192,
            n_layer=2,
            n_head=4,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=0,
        )
        self.model = GPT2LMHeadModel(config).to(device).eval()
        self.processors = LogitsProcessorList([Tone(span=8, weight=0.5)])
        self.device = device

    @torch.inference_mode()
    def turn(self):
        """A batch of limericks on the same opening words."""
        opening = torch.randint(3, WORDS, (1, random.randint(3, 7)), device=self.device)
        prompt = opening.repeat(LIMERICKS, 1)
        words = self.model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=True,
            top_k=50,
            max_new_tokens=LENGTH,
            logits_processor=self.processors,
        )
        return words[:, prompt.shape[1] :]


def variety(words):
    """The share of the words that are different from each other."""
    return words.unique().numel() / words.numel()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(5)
    mill = Mill("cuda" if torch.cuda.is_available() else "cpu")
    turns, smooth = 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        smooth = 0.8 * smooth + 0.2 * variety(mill.turn())
        turns += 1
        if turns % 5 == 0:
            print(f"turn {turns}: {turns * LIMERICKS} limericks, variety {smooth:.2f}", flush=True)
        time.sleep(random.uniform(0.3, 0.6))


if __name__ == "__main__":
    main()
