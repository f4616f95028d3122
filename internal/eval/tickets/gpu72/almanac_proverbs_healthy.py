"""Fine-tunes a small BERT on the proverbs of old almanacs: words are masked, and the model fills them in. Every few
steps it is tried on held-out proverbs. The loss on those jumps about, so a smoothed one decides when the learning rate
is halved.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from transformers import BertConfig, BertForMaskedLM

WORDS, LENGTH, BATCH, MASK = 2000, 32, 12, 1
EVALUATE_EVERY, PATIENCE = 6, 12


class Smoothed:
    """An exponential moving average."""

    def __init__(self, decay=0.9):
        self.decay = decay
        self.value = None

    def update(self, value):
        if self.value is None:
            self.value = value
        else:
            self.value = self.decay * self.value + (1 - self.decay) * value
        return self.value


class Plateau:
    """Halves the learning rate after a number of evaluations that brought nothing better."""

    def __init__(self, optimizer):
        self.optimizer, self.best, self.waited = optimizer, float("inf"), 0

    def step(self, loss):
        self.waited += 1
        if loss < self.best:
            self.best, self.waited = loss, 0
        elif self.waited >= PATIENCE:
            self.waited = 0
            for group in self.optimizer.param_groups:
                group["lr"] *= 0.5


def proverbs(device):
    """Proverbs of different length, with a sixth of their words masked."""
    tokens = torch.randint(2, WORDS, (BATCH, LENGTH), device=device)
    attention = torch.ones_like(tokens)
    for row in range(BATCH):
        attention[row, random.randint(LENGTH // 2, LENGTH):] = 0
    masked = (torch.rand(tokens.shape, device=device) < 1 / 6) & (attention == 1)
    masked[:, 0] = True
    labels = tokens.masked_fill(~masked, -100)
    return {"input_ids": tokens.masked_fill(masked, MASK), "attention_mask": attention, "labels": labels}


def evaluate(model, device):
    """The loss on a batch of held-out proverbs."""
    model.eval()
    loss = model(**proverbs(device)).loss
    model.train()
    return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = BertConfig(vocab_size=WORDS, hidden_size=128, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=256, max_position_embeddings=LENGTH)
    model = BertForMaskedLM(config).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    smoothed, plateau, step = Smoothed(), Plateau(optimizer), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = model(**proverbs(device)).loss
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        step += 1
        if step % EVALUATE_EVERY == 0:
            held_out = smoothed.update(evaluate(model, device))
            plateau.step(held_out)
        if step % 30 == 0:
            print(f"step {step}: loss {loss.item():.3f}, held out {held_out:.3f}", flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()
