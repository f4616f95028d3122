"""In what guests wrote about a hotel each word is marked: praise, complaint, a place, a name ... A small network learns
it with the Trainer of transformers, which evaluates every few steps. For a look at the mistakes of the last evaluations
when the training is over, what the network said is written down.

ticket: huggingface/transformers#8476
class: none
"""

import os
import random
import tempfile
import time
from collections import deque

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForTokenClassification, Trainer, TrainerCallback, TrainingArguments

WORDS, MARKS, LENGTH, TRAINED, TESTED = 800, 40, 64, 512, 256


class Reviews(Dataset):
    """What a word is marked as depends on it and on the word before."""

    def __init__(self, reviews, seed):
        rng = np.random.default_rng(seed)
        self.words = torch.from_numpy(rng.integers(1, WORDS, (reviews, LENGTH)))
        self.marks = (self.words + 3 * self.words.roll(1, 1)) % MARKS

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        return {"input_ids": self.words[index], "labels": self.marks[index]}


class Scorer:
    """Computes the metrics of an evaluation."""

    def __init__(self, examples=5):
        self.examples, self.evaluations = examples, deque(maxlen=examples)

    def __call__(self, evaluated):
        self.evaluations.append(evaluated)
        right = evaluated.predictions.argmax(-1) == evaluated.label_ids
        return {"accuracy": float(right.mean()), "whole_reviews": float(right.mean(1).max())}

    def mistakes(self):
        for evaluated in self.evaluations:
            found = evaluated.predictions.argmax(-1)
            for review, word in np.argwhere(found != evaluated.label_ids)[:1]:
                yield int(review), int(word), int(found[review, word]), int(evaluated.label_ids[review, word])


class Pace(TrainerCallback):
    """Other work on the machine goes first; and the training ends when its time is over."""

    def __init__(self, end):
        self.end = end

    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(random.uniform(0.02, 0.15))
        control.should_training_stop = time.time() > self.end
        return control

    def on_evaluate(self, args, state, control, metrics, **kwargs):
        print("step", state.global_step, "accuracy", round(metrics["eval_accuracy"], 3), flush=True)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    config = BertConfig(vocab_size=WORDS, hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=128, max_position_embeddings=LENGTH, num_labels=MARKS)
    scorer = Scorer()
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, max_steps=100_000, per_device_train_batch_size=32, per_device_eval_batch_size=64,
            learning_rate=2e-3, eval_strategy="steps", eval_steps=2, logging_strategy="no", save_strategy="no",
            report_to="none", disable_tqdm=True)
        trainer = Trainer(model=BertForTokenClassification(config), args=arguments, train_dataset=Reviews(TRAINED, 1),
                          eval_dataset=Reviews(TESTED, 2), compute_metrics=scorer, callbacks=[Pace(end)])
        trainer.train()
    for review, word, found, mark in scorer.mistakes():
        print("review", review, "word", word, "marked", found, "but is", mark)


if __name__ == "__main__":
    main()
