"""Pretrains a small BERT on old ship logbooks with masked words. Every few dozen steps an evaluation looks at the
held-out pages: besides the loss it reports the effective rank of the hidden states of a middle layer, which a probe
collects, to see early if the representation collapses.

ticket: practice
class: host-growth
holder: hooks seen Probe probe
cause: hooks-left closure-kept
"""

import os
import random
import time

import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM

WORDS, LENGTH, WIDTH, LAYERS = 2000, 64, 256, 4
BATCH, MASK, IGNORED = 16, 3, -100
STEPS_PER_EVALUATION, HELD_OUT_BATCHES = 30, 2


class Probe:
    """Collects what a layer puts out while the model is evaluated."""

    def __init__(self, layer):
        self.seen = []
        layer.register_forward_hook(self.note)  # keeps

    def note(self, layer, inputs, output):
        if layer.training:
            return
        hidden = output[0] if isinstance(output, tuple) else output
        self.seen.append(hidden.reshape(-1, WIDTH).cpu().double().numpy())  # grows keeps

    def effective_rank(self):
        hidden = np.concatenate(self.seen)
        spectrum = np.linalg.eigvalsh(np.cov(hidden, rowvar=False)).clip(1e-12)
        shares = spectrum / spectrum.sum()
        return float(np.exp(-(shares * np.log(shares)).sum()))


def masked(pages):
    """The pages with some words masked, and those words as labels."""
    chosen = torch.rand(pages.shape, device=pages.device) < 0.15
    return pages.masked_fill(chosen, MASK), pages.masked_fill(~chosen, IGNORED)


def pages(device):
    """Logbook pages: the words of a watch come from one part of the vocabulary."""
    watch = torch.randint(4, WORDS - 200, (BATCH, 1), device=device)
    return watch + torch.randint(200, (BATCH, LENGTH), device=device)


@torch.no_grad()
def evaluate(model, held_out):
    model.eval()
    probe = Probe(model.bert.encoder.layer[LAYERS // 2])
    losses = []
    for batch in held_out:
        words, labels = masked(batch)
        losses.append(model(input_ids=words, labels=labels).loss.item())
    model.train()
    return sum(losses) / len(losses), probe.effective_rank()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = BertConfig(vocab_size=WORDS, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=4,
                        intermediate_size=512, max_position_embeddings=LENGTH)
    model = BertForMaskedLM(config).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=20_000)
    held_out = [pages(device) for _ in range(HELD_OUT_BATCHES)]
    steps, end = 0, time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        words, labels = masked(pages(device))
        optimizer.zero_grad()
        loss = model(input_ids=words, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        steps += 1
        if steps % STEPS_PER_EVALUATION == 0:
            held_out_loss, rank = evaluate(model, held_out)
            print(f"step {steps}: loss {loss.item():.3f}, held out {held_out_loss:.3f}, rank {rank:.1f}", flush=True)
        time.sleep(random.uniform(0.02, 0.07))


if __name__ == "__main__":
    main()
