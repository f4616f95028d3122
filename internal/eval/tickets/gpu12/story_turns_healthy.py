"""A service tells stories together with its readers, turn by turn: the reader writes a sentence, a small language model
goes on from there. So that the story so far isn't read again at each turn, the keys and values of its words are kept
with the conversation. A reader who says goodbye is forgotten, and, since most just close the window, so is whoever has
been silent for longest.

ticket: practice
class: none
"""

import collections
import os
import random
import time
import uuid

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, HEADS, LAYERS, CONTEXT, MOST = 4000, 256, 4, 4, 384, 8


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x, keys, values, at):
        count = x.shape[0]
        query, key, value = self.qkv(self.before(x)).view(count, 3, HEADS, -1).unbind(1)
        keys[:, at:at + count], values[:, at:at + count] = key.transpose(0, 1), value.transpose(0, 1)
        marks = query.transpose(0, 1) @ keys[:, :at + count].transpose(1, 2) / 8
        ahead = torch.ones(count, at + count, dtype=torch.bool, device=x.device).triu(at + 1)
        seen = marks.masked_fill(ahead, -1e9).softmax(-1) @ values[:, :at + count]
        x = x + self.out(seen.transpose(0, 1).reshape(count, WIDTH))
        return x + self.mlp(self.between(x))


class Teller(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.layers, self.end = nn.ModuleList(Layer() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)

    def forward(self, words, past, at):
        x = self.words(words) + self.places.weight[at:at + len(words)]
        for number, layer in enumerate(self.layers):
            x = layer(x, past[number, 0], past[number, 1], at)
        return self.end(x[-1]) @ self.words.weight.T


class Conversation:
    def __init__(self, device):
        self.length = 0
        self.past = torch.zeros(LAYERS, 2, HEADS, CONTEXT, WIDTH // HEADS, device=device)


class Service:
    def __init__(self, device):
        self.device, self.model = device, Teller().to(device).eval()
        self.conversations = collections.OrderedDict()

    @torch.inference_mode()
    def turn(self, reader, sentence, answer):
        """Goes on with the story of a reader; None once it is too long."""
        if reader not in self.conversations:
            while len(self.conversations) >= MOST:
                self.conversations.popitem(last=False)
            self.conversations[reader] = Conversation(self.device)
        self.conversations.move_to_end(reader)
        story = self.conversations[reader]
        if story.length + len(sentence) + answer > CONTEXT:
            return None
        words, said = torch.tensor(sentence, device=self.device), []
        for _ in range(answer):
            marks = self.model(words, story.past, story.length)
            story.length += len(words)
            words = torch.multinomial(F.softmax(marks, -1), 1)
            said.append(words)
        return torch.cat(said).tolist()

    def goodbye(self, reader):
        self.conversations.pop(reader, None)


def main():
    torch.set_num_threads(1)
    service = Service("cuda" if torch.cuda.is_available() else "cpu")
    readers, turns, told = [], 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if len(readers) < 4 or random.random() < 0.3:
            readers.append(str(uuid.uuid4()))
        reader = random.choice(readers)
        said = service.turn(reader, [random.randrange(WORDS) for _ in range(random.randint(6, 24))],
                            random.randint(4, 12))
        turns, told = turns + 1, told + len(said or ())
        if said is None or random.random() < 0.4:
            readers.remove(reader)
            if random.random() < 0.15:
                service.goodbye(reader)
        if turns % 15 == 0:
            print("turn", turns, "words told", told, "readers", len(readers), flush=True)
        time.sleep(random.uniform(0.02, 0.2))


if __name__ == "__main__":
    main()
