"""A service finds the answer to a question in a long passage, with a reader on the device. So that a client may ask
where the answer stood, what the tokenizer said of the last 60 passages is kept by the answer's number.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import nn

SOUNDS = ["ka", "to", "ri", "men", "sol", "ve", "an", "ul", "dor", "shi", "pe", "gra", "li", "mo", "tes"]
WORDS = ["".join(random.choices(SOUNDS, k=random.randint(1, 4))) for _ in range(3000)]
BLOCK, BLOCKS = 128, 44


def text(count):
    return " ".join(random.choices(WORDS, k=count)) + "."


def tokenizer():
    """A tokenizer of words' pieces, trained on the spot."""
    made = Tokenizer(models.BPE(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.train_from_iterator((text(200) for _ in range(60)), trainers.BpeTrainer(
        vocab_size=900, special_tokens=["[UNK]", "[PAD]"], show_progress=False))
    return made


class Reader(nn.Module):
    """Gives each token a mark as the start and as the end of an answer."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(1024, 96)
        self.body = nn.Sequential(nn.Conv1d(96, 64, 7, padding=3), nn.GELU(), nn.Conv1d(64, 96, 7, padding=3))
        self.marks = nn.Linear(96, 2)

    def forward(self, numbers):
        found = self.words(numbers)
        return self.marks(found + self.body(found.transpose(1, 2)).transpose(1, 2)).reshape(-1, 2)


class Answers:
    def __init__(self, device):
        self.device, self.model, self.tokenizer = device, Reader().to(device).eval(), tokenizer()
        self.shown, self.number = {}, 0

    @torch.inference_mode()
    def find(self, question, passage):
        pair = self.tokenizer.encode(question, passage)
        numbers = pair.ids[:BLOCK * BLOCKS]
        numbers += [1] * (BLOCK * BLOCKS - len(numbers))
        marks = self.model(torch.tensor(numbers, device=self.device).view(BLOCKS, BLOCK))
        start = min(int(marks[:, 0].argmax()), len(pair) - 1)
        end = min(start + 1 + int(marks[start:start + 20, 1].argmax()), len(pair) - 1)
        self.number += 1
        self.shown[self.number] = (pair, start, end)
        self.shown.pop(self.number - 60, None)
        return self.number

    def where(self, number):
        """The place of the answer in the passage, by letters."""
        if number not in self.shown:
            return None
        pair, start, end = self.shown.pop(number)
        return pair.token_to_chars(start)[0], pair.token_to_chars(end)[1]


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    answers, asked = Answers(device), 0
    while time.time() < end:
        number = answers.find(text(random.randint(6, 14)), text(random.randint(2600, 5400)))
        if random.random() < 0.12:
            place = answers.where(number - random.choice((0, 0, 1, 3)))
            asked += 1
            if asked % 5 == 0:
                print(number, "answers", asked, "asked for, the last at", place, flush=True)
        time.sleep(random.uniform(0.02, 0.09))


if __name__ == "__main__":
    main()
