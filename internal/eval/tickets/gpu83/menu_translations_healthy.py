"""A batch job translates the menus of restaurants, file by file, into four languages. The work for a language draws
its memory from a pool of the allocator, apart from that of the model, so that odd sizes do not break up the memory of
the others.

ticket: practice
class: none
"""

import contextlib
import itertools
import os
import random
import time
from dataclasses import dataclass

import torch
from torch import nn

WORDS, WIDTH, LENGTH, DISHES = 1500, 256, 40, 24
LANGUAGES = "Basque", "Danish", "Korean", "Welsh"


@dataclass
class Menu:
    name: str
    language: str
    pages: list


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.languages = nn.Embedding(len(LANGUAGES), WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 512, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)

    def forward(self, tokens, language):
        hidden = self.layers(self.words(tokens) + self.languages(language))
        return hidden @ self.words.weight.T


class Translator:
    def __init__(self, device):
        self.device = device
        self.model = Model().to(device).eval()
        self.pools = {}

    def pool(self, menu):
        """The allocator draws from the language's pool in this context."""
        if self.device == "cpu":
            return contextlib.nullcontext()
        if menu.language not in self.pools:
            self.pools[menu.language] = torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.pools[menu.language])

    @torch.inference_mode()
    def page(self, tokens, language):
        language = torch.tensor(LANGUAGES.index(language)).to(self.device)
        scores = self.model(tokens.to(self.device), language)
        return scores.softmax(dim=-1).max(dim=-1).indices.cpu()

    def translate(self, menu):
        with self.pool(menu):
            return [self.page(tokens, menu.language) for tokens in menu.pages]


def menus():
    """The files of the job, as they are found in the folder."""
    for number in itertools.count(1):
        pages = [torch.randint(WORDS, (DISHES, LENGTH)) for _ in range(random.randint(2, 5))]
        yield Menu(f"menu{number:05}.txt", LANGUAGES[number % len(LANGUAGES)], pages)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    translator, pages = Translator(device), 0
    translator.page(torch.randint(WORDS, (DISHES, LENGTH)), LANGUAGES[0])
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for number, menu in enumerate(menus(), start=1):
        if time.time() > end:
            break
        translated = translator.translate(menu)
        pages += len(translated)
        if number % 10 == 0:
            print(f"{menu.name} in {menu.language}: {translated[-1][0, :4].tolist()}; {pages} pages", flush=True)
        time.sleep(random.uniform(0.4, 0.9))


if __name__ == "__main__":
    main()
