"""A large language model teaches a small one the reviews of an umbrella shop: the small one learns the large one's soft
guesses for every word. The large one is slow, so its guesses for a review are cached and it reads each review only
once. The shop has 96 reviews, whose guesses fit well beside the models.

ticket: practice
class: app-leak
holder: soft_guesses cache Teacher teacher
cause: cache-without-bound
"""

import os
import random
import time
from functools import cache

import torch
from torch.nn import functional as F
from transformers import BertConfig, BertForMaskedLM

WORDS, LENGTH, REVIEWS, BATCH, WARMTH = 4000, 24, 96, 8, 2.0


def language_model(layers, width):
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=2 * width,
        max_position_embeddings=LENGTH,
    )
    return BertForMaskedLM(config)


class Teacher:
    def __init__(self, device):
        self.model = language_model(6, 192).to(device).eval()

    @cache
    def soft_guesses(self, review):
        """The large model's softened guesses for every place of a review."""
        with torch.no_grad():
            logits = self.model(input_ids=review.unsqueeze(0)).logits[0]
        return F.softmax(logits / WARMTH, dim=-1)  # grows


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    reviews = torch.randint(WORDS, (REVIEWS, LENGTH), device=device)
    teacher, student = Teacher(device), language_model(2, 96).to(device)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
    epoch = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        order, total = list(range(REVIEWS)), 0.0
        random.shuffle(order)
        for first in range(0, REVIEWS, BATCH):
            chosen = order[first : first + BATCH]
            targets = torch.stack([teacher.soft_guesses(reviews[index]) for index in chosen])  # keeps
            logits = student(input_ids=reviews[chosen]).logits
            guesses = F.log_softmax(logits / WARMTH, dim=-1)
            loss = F.kl_div(guesses.flatten(0, 1), targets.flatten(0, 1), reduction="batchmean")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            if time.time() > end:
                break
            time.sleep(0.1)
        epoch += 1
        print(f"epoch {epoch}: divergence {total * BATCH / REVIEWS:.4f}", flush=True)


if __name__ == "__main__":
    main()
