"""Learning to tell the gaits of heifers from a pressure mat.

A walk over the mat is coded as a row of tokens, one for each footfall and its weight; a small BERT tells sound walks
from three kinds of lameness. Training goes on all the time with freshly drawn walks. Twice a second the weights of the
last few points of the training are averaged into a second model, which is the one that judges the walks of the day.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import torch
from transformers import BertConfig, BertForSequenceClassification

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STEPS_PER_SECOND = 10
STEPS_PER_POINT = 5
AVERAGED = 4
TOKENS = 192
LENGTH = 64
BATCH = 16
GAITS = ("sound", "left hind", "right hind", "arched")


def small_bert():
    config = BertConfig(
        vocab_size=TOKENS,
        hidden_size=192,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=352,
        max_position_embeddings=LENGTH + 64,
        num_labels=len(GAITS),
    )
    return BertForSequenceClassification(config).to(DEVICE)


class Mat:
    """Draws walks over the mat: footfalls in the rhythm of a gait, with noise."""

    def __init__(self, seed=90):
        self.source = torch.Generator().manual_seed(seed)
        self.rhythms = torch.randint(8, TOKENS, (len(GAITS), 8), generator=self.source)

    def walks(self, count):
        gaits = torch.randint(0, len(GAITS), (count,), generator=self.source)
        tokens = self.rhythms[gaits].repeat(1, LENGTH // 8)
        noise = torch.randint(8, TOKENS, (count, LENGTH), generator=self.source)
        slips = torch.rand(count, LENGTH, generator=self.source) < 0.4
        tokens = torch.where(slips, noise, tokens)
        return tokens.to(DEVICE), gaits.to(DEVICE)


class WeightAverage:
    """The mean of the weights at the last few points of the training."""

    def __init__(self, model):
        self.model = model
        self.points = deque(maxlen=AVERAGED)

    def mark(self, learner):
        weights = {name: value.detach().clone() for name, value in learner.named_parameters()}
        self.points.append(weights)
        self.refresh()

    @torch.no_grad()
    def refresh(self):
        chosen = list(self.points)
        for name, value in self.model.named_parameters():
            value.copy_(sum(weights[name] for weights in chosen) / len(chosen))


class Trainer:
    """Trains the learner and lets the average judge."""

    def __init__(self, mat):
        self.mat = mat
        self.learner = small_bert()
        self.judge = small_bert()
        self.judge.eval()
        self.average = WeightAverage(self.judge)
        self.optimizer = torch.optim.AdamW(self.learner.parameters(), lr=3e-4)
        self.loss = 0.0

    def step(self):
        self.learner.train()
        tokens, gaits = self.mat.walks(BATCH)
        output = self.learner(input_ids=tokens, attention_mask=torch.ones_like(tokens), labels=gaits)
        self.optimizer.zero_grad(set_to_none=True)
        output.loss.backward()
        self.optimizer.step()
        self.loss += 0.1 * (output.loss.item() - self.loss)

    @torch.no_grad()
    def judged_right(self, count=32):
        tokens, gaits = self.mat.walks(count)
        logits = self.judge(input_ids=tokens, attention_mask=torch.ones_like(tokens)).logits
        return float((logits.argmax(dim=1) == gaits).float().mean())


def main():
    torch.manual_seed(90)
    trainer = Trainer(Mat())
    start = time.monotonic()
    steps = 0
    right = 0.0
    while time.monotonic() - start < SECONDS:
        trainer.step()
        steps += 1
        if steps % STEPS_PER_POINT == 0:
            trainer.average.mark(trainer.learner)
        if steps % (3 * STEPS_PER_SECOND) == 0:
            right = trainer.judged_right()
            print(f"step {steps}: loss {trainer.loss:.3f}, judged right {right:.2f}", flush=True)
        time.sleep(max(0.0, start + steps / STEPS_PER_SECOND - time.monotonic()))
    print(f"{steps} steps, loss {trainer.loss:.3f}, judged right {right:.2f}", flush=True)


if __name__ == "__main__":
    main()
