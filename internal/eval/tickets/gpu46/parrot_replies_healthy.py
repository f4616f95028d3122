"""Visitors of a bird park talk with a parrot, which is a small language model that a server runs in one thread while
the server itself is an asyncio loop. Every reply is watched: a timer looks at it each second, and reports it to the
keeper when it takes too long. Visitors come in turns and chat with lines of different lengths.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from transformers import GPT2Config, GPT2LMHeadModel

WORDS, PLACES, NEW, VISITORS = 4000, 320, 12, 3
PATIENCE, EVERY = 20.0, 1.0
LENGTHS = (120, 160, 200, 240)


class Reply:
    """A reply in the making: what was said so far, and the keys and values of it."""

    def __init__(self, number, prompt):
        self.number, self.prompt = number, prompt
        self.words, self.past, self.ready = [], None, False
        self.began = time.time()


class Parrot:
    def __init__(self, device):
        config = GPT2Config(vocab_size=WORDS, n_positions=PLACES, n_embd=384, n_layer=5, n_head=6,
                            bos_token_id=0, eos_token_id=0)
        self.device = device
        self.model = GPT2LMHeadModel(config).to(device).eval()
        self.thread = ThreadPoolExecutor(max_workers=1)
        self.answered = 0

    @torch.inference_mode()
    def speak(self, reply):
        tokens = reply.prompt.to(self.device)[None]
        for _ in range(NEW):
            out = self.model(input_ids=tokens, past_key_values=reply.past, use_cache=True)
            reply.past = out.past_key_values
            chances = torch.softmax(out.logits[0, -1], dim=-1)
            tokens = torch.multinomial(chances, 1)[None]
            reply.words.append(tokens.item())
        reply.ready = True

    def watch(self, reply):
        if reply.ready:
            return
        if time.time() - reply.began > PATIENCE:
            print("reply", reply.number, "is stuck after", len(reply.words), "words", flush=True)
        asyncio.get_running_loop().call_later(EVERY, self.watch, reply)

    async def answer(self, number, prompt):
        loop = asyncio.get_running_loop()
        reply = Reply(number, prompt)
        self.watch(reply)
        await loop.run_in_executor(self.thread, self.speak, reply)
        self.answered += 1
        return reply.words


async def visit(parrot, visitor, end):
    line = 0
    while time.time() < end:
        line += 1
        prompt = torch.randint(WORDS, (random.choice(LENGTHS),))
        words = await parrot.answer(f"{visitor}.{line}", prompt)
        if parrot.answered % 15 == 0:
            print(parrot.answered, "replies, the last began with", words[:3], flush=True)
        await asyncio.sleep(random.uniform(0.3, 0.9))


async def serve():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    parrot = Parrot(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    await asyncio.gather(*(visit(parrot, visitor, end) for visitor in range(VISITORS)))
    parrot.thread.shutdown()


if __name__ == "__main__":
    torch.set_num_threads(1)
    asyncio.run(serve())
