"""A zoo's telephone line: children ask the walrus, and a small Llama answers word by word. Each call is a stream of its
own. Its keys and values lie on the switchboard while the walrus speaks, and some children hang up before he ends.

ticket: practice
class: app-leak
holder: lines Switchboard
cause: sessions-kept entries-left
"""

import asyncio
import itertools
import os
import random
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

WORDS, LONGEST_ANSWER = 4_000, 24


def walrus():
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=1024,
    )
    return LlamaForCausalLM(config).eval()


class Switchboard:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.numbers = itertools.count(1)
        self.lines = {}

    def next_word(self, tokens, cache=None):
        with torch.inference_mode():
            out = self.model(input_ids=tokens, past_key_values=cache, use_cache=True)  # grows
            return out.logits[:, -1].argmax(-1, keepdim=True), out.past_key_values

    async def answer(self, question):
        """Streams the words of the answer."""
        number = next(self.numbers)
        word, self.lines[number] = self.next_word(question.to(self.device))  # keeps
        for _ in range(LONGEST_ANSWER):
            yield word.item()
            await asyncio.sleep(0.01)
            word, self.lines[number] = self.next_word(word, self.lines[number])
        del self.lines[number]


class Tally:
    def __init__(self):
        self.answered = self.hung_up = self.words = 0

    def __str__(self):
        return f"{self.answered} answered, {self.hung_up} hung up, {self.words} words"


async def call(board, tally):
    """A child listens until the answer ends or until it has had enough."""
    question = torch.randint(WORDS, (1, random.randint(200, 600)))
    patience, heard = random.choice((5, 12, LONGEST_ANSWER)), 0
    async for _ in board.answer(question):
        heard += 1
        tally.words += 1
        if heard == patience and patience < LONGEST_ANSWER:
            tally.hung_up += 1
            return
    tally.answered += 1


async def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    board, tally, calls = Switchboard(walrus().to(device), device), Tally(), set()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    printed = time.time()
    while time.time() < end:
        child = asyncio.create_task(call(board, tally))
        calls.add(child)
        child.add_done_callback(calls.discard)
        await asyncio.sleep(random.uniform(0.15, 0.45))
        if time.time() - printed > 3:
            print(tally, flush=True)
            printed = time.time()
    await asyncio.gather(*calls)
    print("closed:", tally)


if __name__ == "__main__":
    asyncio.run(main())
