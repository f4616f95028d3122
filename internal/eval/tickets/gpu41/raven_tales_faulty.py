"""A raven is the guide of a text adventure: an agent with a small language model that answers what players say. It
remembers the tale of each player in the form of the model's keys and values, so that a turn costs only its own words. A
player who says goodbye is forgotten.

ticket: practice
class: app-leak
holder: tales Raven
cause: sessions-kept cache-without-bound
"""

import asyncio
import itertools
import os
import random
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

WORDS, WIDTH, LAYERS = 4000, 512, 4
PLAYERS, SAID, ANSWERED = 4, 40, 6


class Raven:
    def __init__(self, device):
        config = GPT2Config(vocab_size=WORDS, n_positions=512, n_embd=WIDTH, n_layer=LAYERS, n_head=8,
                            bos_token_id=0, eos_token_id=0)
        self.model = GPT2LMHeadModel(config).to(device).eval()
        self.device = device
        self.tales = {}

    @torch.inference_mode()
    def answer(self, player, words):
        """The words of the raven's answer to these words of the player."""
        tale = self.tales.get(player)
        tokens = torch.tensor([words], device=self.device)
        answer = []
        for _ in range(ANSWERED):
            output = self.model(input_ids=tokens, past_key_values=tale, use_cache=True)  # grows
            tale = output.past_key_values
            tokens = torch.multinomial(output.logits[:, -1].softmax(-1), 1)
            answer.append(tokens.item())
        self.tales[player] = tale  # keeps
        return answer

    def goodbye(self, player):
        self.tales.pop(player, None)


class Counts:
    def __init__(self):
        self.players = self.turns = self.parted = 0

    def __str__(self):
        return f"{self.players} players, {self.turns} turns, {self.parted} said goodbye"


async def adventure(raven, player, counts):
    """A player says a few things. Most of them just close the window in the end."""
    counts.players += 1
    for _ in range(random.randint(1, 4)):
        words = [random.randrange(1, WORDS) for _ in range(random.randint(SAID // 2, SAID))]
        raven.answer(player, words)
        counts.turns += 1
        await asyncio.sleep(random.uniform(0.1, 0.4))
    if random.random() < 0.15:
        raven.goodbye(player)
        counts.parted += 1


async def seat(raven, numbers, counts, end):
    while time.time() < end:
        await adventure(raven, f"player-{next(numbers)}", counts)


async def report(counts, end):
    while time.time() < end:
        await asyncio.sleep(3)
        print(counts, flush=True)


async def serve(end):
    raven = Raven("cuda" if torch.cuda.is_available() else "cpu")
    numbers, counts = itertools.count(1), Counts()
    seats = [seat(raven, numbers, counts, end) for _ in range(PLAYERS)]
    await asyncio.gather(report(counts, end), *seats)


def main():
    torch.set_num_threads(1)
    asyncio.run(serve(time.time() + float(os.environ.get("SECONDS", "45"))))


if __name__ == "__main__":
    main()
