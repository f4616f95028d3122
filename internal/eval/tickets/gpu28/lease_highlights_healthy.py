"""Tenants ask about their leases. A reranker reads the clauses that a search has found, puts them in order, and hands
the vectors of the words over to a worker thread, which works out where to highlight. A future is kept until it is
done, so that the program does not end before the last of them is done.

ticket: practice
class: none
"""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import torch
from torch import nn

WORDS, WIDTH, CLAUSES = 6_000, 192, 32


class Reranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.score = nn.Linear(WIDTH, 1)

    def forward(self, question, clauses):
        both = torch.cat([question.expand(len(clauses), -1), clauses], dim=1)
        hidden = self.layers(self.words(both))
        return self.score(hidden[:, 0]).squeeze(1), hidden


class Desk:
    def __init__(self, device):
        self.device = device
        self.model = Reranker().to(device).eval()
        self.workers = ThreadPoolExecutor(2)
        self.highlights = set()
        self.marked = 0

    @torch.inference_mode()
    def answer(self, question, clauses):
        """The order of the clauses, the best one first."""
        scores, hidden = self.model(question.to(self.device), clauses.to(self.device))
        asked, found = hidden.split([question.shape[1], clauses.shape[1]], dim=1)
        future = self.workers.submit(self.highlight, asked.cpu().numpy(), found.cpu().numpy())
        self.highlights.add(future)
        future.add_done_callback(self.highlights.discard)
        return scores.argsort(descending=True).tolist()

    def highlight(self, asked, found):
        """How warm each word of each clause is for each word of the question."""
        asked = asked / np.linalg.norm(asked, axis=-1, keepdims=True)
        found = found / np.linalg.norm(found, axis=-1, keepdims=True)
        heat = np.einsum("cqw,cfw->cqf", asked, found)
        self.marked += int((heat.max(axis=1) > 0.5).sum())
        return heat

    def close(self):
        wait(set(self.highlights))
        self.workers.shutdown()


def tenant():
    """A question and the clauses that were found for it."""
    question = torch.randint(WORDS, (1, random.randint(10, 40)))
    return question, torch.randint(WORDS, (CLAUSES, random.choice((80, 120, 160, 240))))


def main():
    torch.set_num_threads(1)
    desk, asked = Desk("cuda" if torch.cuda.is_available() else "cpu"), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(random.randint(1, 5)):
            order = desk.answer(*tenant())
            asked += 1
        if asked % 5 == 0:
            print(f"{asked} questions, clause {order[0]} is the best, {desk.marked} words marked", flush=True)
        time.sleep(random.uniform(0.3, 0.7))
    desk.close()


if __name__ == "__main__":
    main()
