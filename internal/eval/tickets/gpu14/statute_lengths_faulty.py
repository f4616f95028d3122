"""The statutes of a country are turned into vectors for a search. They are gone through by length, the short ones
first; a statute is one sequence, a little filled up, and each of its parts may look at all others.

ticket: practice
class: pool-growth
holder: -
cause: fragmentation pool-never-trims
"""

import os
import random
import time

import torch
from torch import nn

WORDS, WIDTH, LAYERS, EVEN = 4000, 128, 2, 32
SHORTEST, LONGEST = 1700, 2400


class Layer(nn.Module):
    """All parts look at all, and then each thinks for itself."""

    def __init__(self):
        super().__init__()
        self.norm, self.looks = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)
        self.thinks = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(),
                                    nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, values, filled):
        query, key, value = self.looks(self.norm(values)).chunk(3, -1)
        weights = torch.softmax((query @ key.T / WIDTH ** 0.5).masked_fill_(filled, -1e9), -1)  # grows keeps
        values = values + weights @ value
        return values + self.thinks(values)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    @torch.inference_mode()
    def forward(self, words):
        filled = words == 0
        values = self.words(words)
        for layer in self.layers:
            values = layer(values, filled)
        return nn.functional.normalize(values[~filled].mean(0), dim=0)


def statutes(count):
    """As many statutes as there are, each with its name, as words."""
    return [("§%d" % (number + 1), [random.randrange(1, WORDS) for _ in range(random.randint(SHORTEST, LONGEST))])
            for number in range(count)]


def padded(words, device):
    """The words of a statute, filled up to an even length."""
    return torch.tensor(words + [0] * (-len(words) % EVEN), device=device)


def main():
    torch.set_num_threads(1)
    seconds = float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder = Encoder().to(device).eval()
    law = sorted(statutes(int(3 * seconds) + 8), key=lambda statute: len(statute[1]))
    index = torch.zeros(len(law), WIDTH, device=device)
    end, said = time.time() + seconds, time.time()
    for number, (name, words) in enumerate(law):
        index[number] = encoder(padded(words, device))
        if number and time.time() - said > 2:
            said = time.time()
            near = (index[:number + 1] @ index[number]).topk(2).indices[-1]
            print(name, "has", len(words), "words, and is most like", law[int(near)][0], flush=True)
        time.sleep(random.uniform(0.15, 0.4))
        if time.time() > end:
            break


if __name__ == "__main__":
    main()
