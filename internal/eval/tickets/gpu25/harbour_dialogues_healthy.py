"""A harbour office answers the radio calls of ships. A ship opens a connection and asks a few questions, each of them
is answered with regard to what was said before: the dialogue's memory lies on the device. Dialogues are found by their
connection in a dictionary with weak keys, so that they go when the ship hangs up.

ticket: practice
class: none
"""

import os
import random
import time
from weakref import WeakKeyDictionary, proxy

import torch
from torch import nn

WORDS, WIDTH = 6000, 384
SLOTS = (512, 768, 1024, 1536)
SHIPS = "Aurora", "Benedikt", "Clementine", "Dagny", "Esperance"


class Connection:
    """The radio line to one ship."""

    def __init__(self, ship):
        self.ship, self.sent = ship, 0

    def send(self, words):
        self.sent += len(words)


class Dialogue:
    """What was said so far on a connection, and where to send what is said next."""

    def __init__(self, connection, slots, device):
        self.connection = proxy(connection)
        self.memory = torch.zeros(slots, WIDTH, device=device)
        self.used = 0

    def remember(self, hidden):
        places = torch.arange(self.used, self.used + len(hidden), device=hidden.device) % len(self.memory)
        self.memory[places] = hidden
        self.used += len(hidden)

    def answer(self, words):
        self.connection.send(words)


class Officer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.reader = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.query = nn.Linear(WIDTH, WIDTH)
        self.out = nn.Linear(2 * WIDTH, WORDS)

    def forward(self, tokens, memory):
        hidden = self.reader(self.words(tokens)[None])[0][0]
        weights = torch.softmax(self.query(hidden) @ memory.T / WIDTH**0.5, dim=-1)
        return hidden, self.out(torch.cat([hidden, weights @ memory], dim=-1)).argmax(dim=-1)


class Office:
    def __init__(self, device):
        self.device = device
        self.officer = Officer().to(device).eval()
        self.dialogues = WeakKeyDictionary()

    def dialogue(self, connection):
        if connection not in self.dialogues:
            self.dialogues[connection] = Dialogue(connection, random.choice(SLOTS), self.device)
        return self.dialogues[connection]

    @torch.inference_mode()
    def ask(self, connection, question):
        dialogue = self.dialogue(connection)
        hidden, words = self.officer(question.to(self.device), dialogue.memory)
        dialogue.remember(hidden)
        dialogue.answer(words.tolist())


def main():
    torch.set_num_threads(1)
    office = Office("cuda" if torch.cuda.is_available() else "cpu")
    lines, calls, said = [], 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        while len(lines) < 4:
            lines.append(Connection(random.choice(SHIPS)))
            calls += 1
        connection = random.choice(lines)
        office.ask(connection, torch.randint(WORDS, (random.randint(6, 40),)))
        if random.random() < 0.4:
            lines.remove(connection)
            said += connection.sent
            if calls % 20 == 0:
                print(f"{calls} calls, {said} words said, last to {connection.ship}", flush=True)
        time.sleep(random.uniform(0.03, 0.1))


if __name__ == "__main__":
    main()
