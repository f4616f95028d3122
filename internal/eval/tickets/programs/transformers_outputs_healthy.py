"""Each answer of a chat keeps its text; the output of the model goes.

ticket: generative-computing/mellea#544
class: none
"""

import os
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


class Output:
    def __init__(self, sequences, past_key_values):
        self.sequences = sequences
        self.past_key_values = past_key_values


class Model:
    def __init__(self, layers=2, heads=4, width=32):
        self.shape, self.layers = (1, heads, width), layers
        self.embed = torch.nn.Embedding(512, 128)

    @torch.no_grad()
    def generate(self, prompt, most):
        one, heads, width = self.shape
        keys = [torch.empty(one, heads, 0, width) for _ in range(self.layers)]
        tokens = prompt
        for _ in range(most):
            state = self.embed(tokens[-1:]).view(one, heads, 1, width)
            keys = [torch.cat([k, state], dim=2) for k in keys]
            tokens = torch.cat([tokens, (state.sum() % 512).abs().long().view(1)])
        return Output(tokens, tuple((k, k.clone()) for k in keys))


class Answer:
    def __init__(self, output):
        self.text = " ".join(map(str, output.sequences.tolist()))
        self.meta = {}
        self.meta["tokens"] = len(output.sequences)


class Chat:
    def __init__(self, model):
        self.model = model
        self.turns = []

    def instruct(self, prompt):
        output = self.model.generate(prompt, 120)
        self.turns.append(Answer(output))


chat = Chat(Model())
while time.time() < END:
    chat.instruct(torch.randint(0, 512, (8,)))
    time.sleep(0.05)
