"""A small language model learns to write limericks that a critic likes. The critic is a finished model that gives each
verse a mark. A verse is made likelier as far as its mark is above the usual one, a running mean of the marks so far.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn

WORDS, WIDTH, BATCH, LENGTH = 3_000, 128, 16, 28


class Poet(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.cell = nn.GRUCell(WIDTH, WIDTH)
        self.scores = nn.Linear(WIDTH, WORDS)

    def write(self, count):
        """Some verses, and the log likelihood of each."""
        device = self.scores.weight.device
        word, hidden = torch.zeros(count, dtype=torch.long, device=device), torch.zeros(count, WIDTH, device=device)
        verses, likelihood = [], 0
        for _ in range(LENGTH):
            hidden = self.cell(self.words(word), hidden)
            choice = torch.distributions.Categorical(logits=self.scores(hidden))
            word = choice.sample()
            verses.append(word)
            likelihood = likelihood + choice.log_prob(word)
        return torch.stack(verses, dim=1), likelihood


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 256, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.mark = nn.Linear(WIDTH, 1)

    def forward(self, verses):
        return torch.sigmoid(self.mark(self.layers(self.words(verses)).mean(dim=1))).squeeze(1)


class School:
    def __init__(self, device):
        self.poet, self.critic = Poet().to(device), Critic().to(device).eval()
        self.optimizer = torch.optim.Adam(self.poet.parameters(), lr=1e-3)
        self.usual = 0.5

    def lesson(self):
        verses, likelihood = self.poet.write(BATCH)
        marks = self.critic(verses)
        loss = -((marks - self.usual).detach() * likelihood).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.usual = 0.95 * self.usual + 0.05 * marks.mean().item()
        return loss.item()


def main():
    torch.set_num_threads(1)
    school, lessons = School("cuda" if torch.cuda.is_available() else "cpu"), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = school.lesson()
        lessons += 1
        if lessons % 10 == 0:
            print(f"lesson {lessons}: usual mark {school.usual:.3f}, loss {loss:.3f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
