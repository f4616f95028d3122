"""A service answers questions from a semantic cache: the question is embedded and compared with those that were
asked before. A question that nothing is near to takes a place in an index of fixed size, the oldest first.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from sentence_transformers import SentenceTransformer
from torch import nn

WIDTH, ROWS = 2048, 600


class HashedWords(nn.Module):
    """Embeds a text by its words, which are hashed; there is no vocabulary to load."""

    def __init__(self, buckets=4000, width=WIDTH):
        super().__init__()
        self.words = nn.EmbeddingBag(buckets, width, mode="mean")
        self.buckets = buckets

    def embed(self, texts):
        ids = [[hash(word) % self.buckets for word in text.split()] for text in texts]
        offsets = torch.tensor([0] + [len(i) for i in ids[:-1]]).cumsum(0)
        device = self.words.weight.device
        return self.words(torch.tensor(sum(ids, [])).to(device), offsets.to(device))

    def forward(self, features, **kwargs):
        return features


class SemanticCache:
    def __init__(self, encoder, device, limit=0.9):
        self.encoder, self.limit, self.hits, self.asked = encoder, limit, 0, 0
        self.index = torch.zeros(ROWS, WIDTH, device=device)
        self.answers = [""] * ROWS

    @torch.inference_mode()
    def ask(self, questions):
        vectors = nn.functional.normalize(self.encoder[0].embed(questions), dim=1)
        self.asked += len(questions)
        for vector, question in zip(vectors, questions):
            if len(self.index):
                nearest = (self.index @ vector).max(0)
                if nearest.values > self.limit:
                    self.hits += 1
                    continue
            self.store(vector, f"an answer to {question}")

    def store(self, vector, answer):
        place = (self.asked - self.hits) % ROWS
        self.index[place] = vector
        self.answers[place] = answer


def questions(count, subjects):
    known = ["how", "when", "where", "why", "can", "does", "price", "order", "late", "return"]
    for _ in range(count):
        rare = [f"item{random.randrange(subjects)}" for _ in range(random.randint(1, 3))]
        yield " ".join(random.sample(known, 2) + rare)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder = SentenceTransformer(modules=[HashedWords()], device=device)
    cache, rounds = SemanticCache(encoder, device), 0
    while time.time() < end:
        cache.ask(list(questions(random.choice([8, 16, 40]), 30000)))
        rounds += 1
        if rounds % 40 == 0:
            print(cache.asked, "asked,", cache.hits, "hits,", len(cache.index), "rows", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
