"""A service goes on with a tune that somebody has begun, in as many versions as are asked for. The versions of a
request are a group that the engine knows by the name of each version; when the last one is done the whole group is
struck off, under the name of the request.

ticket: vllm-project/vllm#15597
class: app-leak
holder: groups sequences
cause: cache-without-bound results-kept
"""

import os
import random
import time

import torch
from torch import nn

NOTES, LONGEST, WIDTH, LAYERS = 90, 256, 128, 3


class Composer(nn.Module):
    """Says what comes next, from what it has worked out of the notes so far."""

    def __init__(self):
        super().__init__()
        self.note, self.place = nn.Embedding(NOTES, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.triples = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH) for _ in range(LAYERS))
        self.mixes = nn.ModuleList(nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(),
                                                 nn.Linear(2 * WIDTH, WIDTH)) for _ in range(LAYERS))
        self.next = nn.Linear(WIDTH, NOTES)

    @torch.inference_mode()
    def forward(self, notes, cache, at):
        """Takes in the notes from a place on, and gives the scores for the one after them."""
        upto = at + len(notes)
        hidden = self.note(notes) + self.place.weight[at:upto]
        late = torch.ones(len(notes), upto, dtype=torch.bool, device=notes.device).triu(at + 1)
        for layer, (triple, mix) in enumerate(zip(self.triples, self.mixes)):
            query, cache[layer, 0, at:upto], cache[layer, 1, at:upto] = triple(hidden).chunk(3, -1)
            scores = (query @ cache[layer, 0, :upto].T / WIDTH ** 0.5).masked_fill(late, -1e4)
            hidden = hidden + scores.softmax(-1) @ cache[layer, 1, :upto]
            hidden = hidden + mix(hidden)
        return self.next(hidden[-1])


class Sequence:
    """One version of a tune, with its cache."""

    def __init__(self, beginning, length, warmth, device):
        self.notes, self.seen, self.length, self.warmth = list(beginning), 0, length, warmth
        self.cache = torch.zeros(LAYERS, 2, LONGEST, WIDTH, device=device)  # grows

    def go_on(self, model):
        fresh = torch.tensor(self.notes[self.seen:], device=self.cache.device)
        scores = model(fresh, self.cache, self.seen)
        self.seen = len(self.notes)
        self.notes.append(int(torch.multinomial((scores / self.warmth).softmax(-1), 1)))
        return len(self.notes) >= self.length


class Group:
    """The versions that belong to one request."""

    def __init__(self, name, sequences):
        self.name, self.sequences, self.waiting = name, sequences, set(sequences)


class Engine:
    def __init__(self, device):
        self.device, self.model = device, Composer().to(device).eval()
        self.groups, self.running, self.done = {}, {}, 0

    def request(self, name, beginning, versions, length):
        group = Group(name, {f"{name}/{number}": Sequence(beginning, length, 0.8 + 0.1 * number, self.device)
                             for number in range(versions)})
        self.groups.update(dict.fromkeys(group.sequences, group))  # keeps
        self.running.update(group.sequences)

    def step(self):
        for version, sequence in list(self.running.items()):
            if sequence.go_on(self.model):
                del self.running[version]
                group = self.groups[version]
                group.waiting.discard(version)
                if not group.waiting:
                    self.groups.pop(group.name, None)
                    self.done += 1


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    engine, number, said = Engine("cuda" if torch.cuda.is_available() else "cpu"), 0, time.time()
    while time.time() < end:
        if len(engine.running) < 8:
            beginning = [random.randrange(NOTES) for _ in range(random.randint(8, 60))]
            engine.request(f"tune{number}", beginning, random.randint(2, 4), len(beginning) + random.randint(10, 24))
            number += 1
        engine.step()
        if time.time() - said > 2:
            said = time.time()
            print(engine.done, "requests done,", len(engine.running), "versions under way", flush=True)
        time.sleep(random.uniform(0.01, 0.05))


if __name__ == "__main__":
    main()
