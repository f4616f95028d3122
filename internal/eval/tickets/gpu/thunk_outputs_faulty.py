"""A chat backend generates, validates and retries answers of a session. The raw output of every
generation, with its keys and values, is kept in the meta data of the answer, next to a bounded cache.

ticket: generative-computing/mellea#544
class: app-leak
holder: _meta hf_output turns context
cause: sessions-kept results-kept
"""

import collections
import dataclasses
import logging
import os
import random
import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
log = logging.getLogger("backend")


@dataclasses.dataclass
class Config:
    layers: int = 4
    width: int = 256
    heads: int = 4
    vocabulary: int = 2048
    kept_prefixes: int = 12


@dataclasses.dataclass
class Output:
    sequences: list
    past_key_values: list


@dataclasses.dataclass
class Thunk:
    text: str
    _meta: dict = dataclasses.field(default_factory=dict)


class Block(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.heads
        self.qkv = torch.nn.Linear(config.width, 3 * config.width)
        self.out = torch.nn.Linear(config.width, config.width)

    def forward(self, x, past):
        q, k, v = (p.unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in self.qkv(x).chunk(3, dim=-1))
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)  # grows
        weights = (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5).softmax(dim=-1)
        return x + self.out((weights @ v).transpose(1, 2).flatten(2)), (k, v)


class Decoder(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed = torch.nn.Embedding(config.vocabulary, config.width)
        self.blocks = torch.nn.ModuleList(Block(config) for _ in range(config.layers))

    def forward(self, tokens, past):
        x, present = self.embed(tokens), []
        for block, kv in zip(self.blocks, past or [None] * len(self.blocks)):
            x, kv = block(x, kv)
            present.append(kv)
        return x[:, -1] @ self.embed.weight.T, present

    @torch.no_grad()
    def generate(self, tokens, new_tokens):
        sequence, past = [], None
        for _ in range(new_tokens):
            logits, past = self(tokens, past)
            tokens = logits.argmax(dim=-1, keepdim=True)
            sequence.append(int(tokens[0, 0]))
        return Output(sequence, past)


class Prefixes:
    """The keys and values of the last prompts."""

    def __init__(self, capacity):
        self.capacity, self.entries = capacity, collections.OrderedDict()

    def put(self, key, value):
        self.entries[key] = value
        while len(self.entries) > self.capacity:
            self.entries.popitem(last=False)


class Backend:
    def __init__(self, config):
        self.config = config
        self.model = Decoder(config).to(device).eval()
        self.prefixes = Prefixes(config.kept_prefixes)

    def generate(self, length, new_tokens):
        prompt = torch.randint(0, self.config.vocabulary, (1, length), device=device)
        output = self.model.generate(prompt, new_tokens)
        if random.random() < 0.3:
            self.prefixes.put(time.time(), output.past_key_values)
        thunk = Thunk(" ".join(map(str, output.sequences)))
        thunk._meta["hf_output"] = output
        self.post_process(thunk)
        return thunk

    def post_process(self, thunk):
        thunk._meta["length"] = len(thunk._meta["hf_output"].sequences)


class Session:
    def __init__(self, backend):
        self.backend, self.context = backend, []

    def instruct(self):
        for attempt in range(3):
            answer = self.backend.generate(random.randint(64, 320), 6)
            verdict = self.backend.generate(48, 2)
            self.context += [answer, verdict]  # keeps
            if random.random() < 0.6:
                break
        return answer


def main():
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO)
    end = time.time() + float(os.environ.get("SECONDS", "40"))
    session, asked = Session(Backend(Config())), 0
    while time.time() < end:
        for _ in range(random.choice([1, 1, 5])):
            session.instruct()
            asked += 1
            time.sleep(0.04)
        if random.random() < 0.1:
            log.info("%d asked, %d in the context", asked, len(session.context))
        time.sleep(random.choice([0.02, 0.02, 0.3]))


if __name__ == "__main__":
    main()
