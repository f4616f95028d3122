"""Customs tariff search. A question is encoded into one vector for each of its passages; encoding is dear, so the
vectors are stored in an in-memory SQLite table for a few seconds, because importers tend to repeat a question at once.
Then the vectors are ranked against the headings of the tariff.

ticket: practice
class: host-growth
holder: db store VectorStore Connection
cause: entries-left cache-without-bound
"""

import hashlib
import os
import random
import sqlite3
import time

import numpy as np
import torch
from torch import nn

SCHEMA = """
CREATE TABLE vectors (
    digest  TEXT PRIMARY KEY,
    expires REAL NOT NULL,
    body    BLOB NOT NULL
);
CREATE INDEX vectors_expires ON vectors (expires);
"""
INSERT = "INSERT OR REPLACE INTO vectors (digest, expires, body) VALUES (?, ?, ?)"
SELECT = "SELECT body FROM vectors WHERE digest = ? AND expires > ?"
TTL = 3.0
PASSAGES, WIDTH, HEADINGS = 128, 512, 1200
GOODS = "cotton yarn", "olive oil", "bicycle frames", "oak veneer", "dried figs"


class VectorStore:
    def __init__(self):
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        self.db.executescript(SCHEMA)
        self.hits = self.misses = 0

    def get(self, digest):
        row = self.db.execute(SELECT, (digest, time.time())).fetchone()
        if row is None:
            self.misses += 1
            return None
        self.hits += 1
        return np.frombuffer(row[0], dtype=np.float32).reshape(PASSAGES, WIDTH)

    def put(self, digest, vectors):
        self.db.execute(INSERT, (digest, time.time() + TTL, vectors.tobytes()))  # grows keeps


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.bytes = nn.Embedding(256, 64)
        self.passages = nn.Parameter(0.1 * torch.randn(PASSAGES, 128))
        self.gru = nn.GRU(64, 128, batch_first=True)
        self.out = nn.Sequential(nn.Linear(128, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))

    def forward(self, codes):
        _, last = self.gru(self.bytes(codes))
        return nn.functional.normalize(self.out(last[0] + self.passages), dim=-1)


def questions():
    """Three of ten questions repeat one of the last."""
    recent = ["HS code of olive oil"] * 8
    while True:
        if random.random() < 0.3:
            yield random.choice(recent)
        else:
            question = f"duty on {random.choice(GOODS)}, lot {random.randrange(10**9)}, {random.randrange(1, 900)} kg"
            recent = recent[1:] + [question]
            yield question


@torch.inference_mode()
def answer(question, store, encoder, headings, device):
    digest = hashlib.sha256(question.encode()).hexdigest()
    vectors = store.get(digest)
    if vectors is None:
        codes = torch.tensor([list(question.encode())], device=device)
        vectors = encoder(codes).cpu().numpy()
        store.put(digest, vectors)
    scores = torch.from_numpy(vectors.copy()).to(device) @ headings.T
    return scores.max(dim=0).values.argmax().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder = Encoder().to(device).eval()
    headings = nn.functional.normalize(torch.randn(HEADINGS, WIDTH, device=device), dim=-1)
    store = VectorStore()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for number, question in enumerate(questions(), 1):
        if time.time() >= end:
            break
        heading = answer(question, store, encoder, headings, device)
        if number % 50 == 0:
            print(f"#{number} heading {heading:04d}, {store.hits} hits, {store.misses} misses", flush=True)
        time.sleep(0.03)


if __name__ == "__main__":
    main()
