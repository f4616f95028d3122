"""A service answers questions from a semantic cache: the question is embedded and compared with those that were
asked before. A question that nothing is near to is put into the index on the device, whose blocks of rows are
written over when there are four.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from sentence_transformers import SentenceTransformer
from torch import nn

WIDTH, ROWS = 2048, 128


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
    def __init__(self, encoder, device, limit=0.9, room=4):
        self.encoder, self.device, self.limit, self.room = encoder, device, limit, room
        self.index, self.answers, self.rows, self.hits, self.asked = [], [], 0, 0, 0

    @torch.inference_mode()
    def ask(self, questions):
        vectors = nn.functional.normalize(self.encoder[0].embed(questions), dim=1)
        self.asked += len(questions)
        near = torch.zeros(len(questions), device=self.device)
        for block in self.index:
            near = torch.maximum(near, (vectors @ block.T).amax(1))
        for vector, question, known in zip(vectors, questions, (near > self.limit).tolist()):
            if known:
                self.hits += 1
            else:
                self.store(vector, f"an answer to {question}")

    def store(self, vector, answer):
        block, row = divmod(self.rows, ROWS)
        block %= self.room
        if block == len(self.index):
            self.index.append(torch.zeros(ROWS, WIDTH, device=self.device))
            self.answers.append([""] * ROWS)
        self.index[block][row] = vector
        self.answers[block][row] = answer
        self.rows += 1


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
            print(cache.asked, "asked,", cache.hits, "hits,", len(cache.index), "blocks", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
