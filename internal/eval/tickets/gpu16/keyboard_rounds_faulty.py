"""The keyboards of many phones learn together which word comes next, without the words leaving the phones. In a round
some phones go on from the common model with words of their own and send how they would change it; the server notes
under the round what comes in, and once all have sent something, the mean of it goes into the common model.

ticket: practice
class: app-leak
holder: updates
cause: results-kept snapshots-kept buffer-without-bound
"""

import collections
import copy
import os
import random
import time

import torch
from torch import nn

WORDS, WIDTH, STEPS = 4000, 96, 3


class Keyboard(nn.Module):
    """The next word, from those before."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.past = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.next = nn.Linear(WIDTH, WORDS)

    def forward(self, typed):
        return self.next(self.past(self.words(typed))[0])


class Phone:
    """Somebody who uses some words more than others."""

    def __init__(self, number, device):
        luck = torch.Generator().manual_seed(number)
        self.likes = torch.rand(WORDS, generator=luck).pow(8).to(device)

    def train(self, common):
        """What it would change about the common model, and of how many words that comes."""
        model = copy.deepcopy(common)
        model.past.flatten_parameters()
        model.past.flatten_parameters()
        model.past.flatten_parameters()
        model.past.flatten_parameters()
        optimizer, words = torch.optim.SGD(model.parameters(), lr=0.5), 0
        for _ in range(STEPS):
            typed = torch.multinomial(self.likes, 8 * 17, replacement=True).view(8, 17)
            loss = nn.functional.cross_entropy(model(typed[:, :-1]).flatten(0, 1), typed[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            words += typed.numel()
        start = common.state_dict()
        return {name: value - start[name] for name, value in model.state_dict().items()}, words, float(loss)  # grows


class Server:
    def __init__(self, device):
        self.common, self.round = Keyboard().to(device), 0
        self.updates = collections.defaultdict(dict)

    def receive(self, number, phone, change, words):
        self.updates[number][phone] = (change, words)  # keeps

    @torch.no_grad()
    def close(self, number, expected):
        """Takes the mean of a round into the common model, when all of it is there."""
        sent = self.updates[number]
        if len(sent) < expected:
            return False
        total = sum(words for _, words in sent.values())
        for name, value in self.common.state_dict().items():
            value += sum(change[name] * (words / total) for change, words in sent.values())
        self.round += 1
        return True


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    server, phones = Server(device), [Phone(number, device) for number in range(60)]
    end, losses = time.time() + float(os.environ.get("SECONDS", "45")), []
    while time.time() < end:
        number, chosen = server.round, random.sample(range(len(phones)), random.choice((2, 3, 4)))
        for phone in chosen:
            change, words, loss = phones[phone].train(server.common)
            server.receive(number, phone, change, words)
            losses = (losses + [loss])[-40:]
            time.sleep(random.uniform(0.05, 0.25))
        server.close(number, len(chosen))
        if server.round % 5 == 0:
            print("round", server.round, "loss", round(sum(losses) / len(losses), 3), flush=True)
        time.sleep(random.uniform(0.1, 0.5))


if __name__ == "__main__":
    main()
