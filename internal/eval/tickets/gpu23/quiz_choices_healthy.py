"""How much does a language model know? It is given multiple-choice questions: each choice is put behind the question,
and the one whose last word it finds likeliest is its answer. For the report, which is printed as it goes, the log
likelihood of the right answer is noted by subject. It is a single number for each question.

ticket: practice
class: none
"""

import os
import random
import time
from collections import Counter

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, CHOICES = 12_000, 128, 4
LENGTHS = (12, 16, 20)
SUBJECTS = "geography", "chemistry", "law", "music"


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Parameter(0.1 * torch.randn(max(LENGTHS), WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 256, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, tokens):
        length = tokens.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=tokens.device)
        hidden = self.layers(self.words(tokens) + self.places[:length], mask=mask, is_causal=True)
        return hidden @ self.words.weight.T


class Report:
    def __init__(self):
        self.right, self.asked = Counter(), Counter()
        self.likelihoods = Counter()

    def add(self, subject, correct, likelihood):
        self.asked[subject] += 1
        self.right[subject] += correct
        self.likelihoods[subject] += likelihood

    def __str__(self):
        lines = []
        for subject in sorted(self.asked):
            mean = self.likelihoods[subject] / self.asked[subject]
            share = self.right[subject] / self.asked[subject]
            lines.append(f"{subject} {share:.2f} ({mean:.2f})")
        return ", ".join(lines)


def question():
    """A question with each of its choices behind it, and which one is right."""
    tokens = torch.randint(WORDS, (random.choice(LENGTHS),)).repeat(CHOICES, 1)
    tokens[:, -1] = torch.randint(WORDS, (CHOICES,))
    return random.choice(SUBJECTS), tokens, random.randrange(CHOICES)


@torch.inference_mode()
def ask(model, tokens, right):
    """Whether the model chose the right one, and the log likelihood of that."""
    log_probs = F.log_softmax(model(tokens), dim=-1)
    scores = [log_probs[choice, -2, tokens[choice, -1].item()] for choice in range(CHOICES)]
    best = max(range(CHOICES), key=lambda choice: scores[choice].item())
    return best == right, scores[right].item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, report, asked = Reader().to(device).eval(), Report(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        subject, tokens, right = question()
        correct, likelihood = ask(model, tokens.to(device), right)
        report.add(subject, correct, likelihood)
        asked += 1
        if asked % 10 == 0:
            print(asked, "questions:", report, flush=True)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
