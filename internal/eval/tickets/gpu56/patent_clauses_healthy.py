"""Translates the claims of patents, dossier by dossier. The tensors of the dossiers live in a memory pool of their
own, so that they are never mixed with those of the model. When the claims are translated, the tensors are gone and the
dossier is closed.

ticket: practice
class: none
"""

import contextlib
import os
import random
import time

import torch
from torch import nn

WORDS, WIDTH, CLAIMS, LENGTH = 6_000, 256, 16, 64


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.reader = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.writer = nn.GRUCell(2 * WIDTH, WIDTH)

    def read(self, source):
        return self.reader(self.words(source))

    def write(self, word, state, memory):
        """The next word of each claim and the new state."""
        weights = torch.softmax((memory @ state.unsqueeze(2)) / WIDTH**0.5, dim=1)
        context = (weights * memory).sum(dim=1)
        state = self.writer(torch.cat((self.words(word), context), dim=1), state)
        return (state @ self.words.weight.T).argmax(dim=1), state


class Bureau:
    def __init__(self, device):
        self.device = device
        self.model = Translator().to(device).eval()
        self.pool = None if device == "cpu" else torch.cuda.MemPool()
        self.translate(self.claims())

    def claims(self):
        return torch.randint(1, WORDS, (CLAIMS, LENGTH), device=self.device)

    @torch.inference_mode()
    def translate(self, source):
        memory = self.model.read(source)
        state, word = memory.mean(dim=1), torch.zeros(CLAIMS, dtype=torch.long, device=self.device)
        written = []
        for _ in range(12):
            word, state = self.model.write(word, state, memory)
            written.append(word.tolist())
        return list(zip(*written))

    def room(self):
        """Where the tensors of the dossiers are put."""
        return torch.cuda.use_mem_pool(self.pool) if self.pool is not None else contextlib.nullcontext()

    def work(self):
        """All claims of a dossier, in two or three rounds."""
        lines = []
        for _ in range(random.randint(2, 3)):
            source = self.claims()
            with self.room():
                lines += self.translate(source)
        return lines


def main():
    torch.set_num_threads(1)
    bureau = Bureau("cuda" if torch.cuda.is_available() else "cpu")
    dossier = claims = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        dossier += 1
        claims += len(bureau.work())
        if dossier % 4 == 0:
            print(f"{dossier} dossiers closed, {claims} claims translated", flush=True)
        time.sleep(random.uniform(0.7, 1.3))


if __name__ == "__main__":
    main()
