"""A server that weighs lines for haiku, with a second model in its shadow. The first model answers; the same lines go
to the second one in the background, and the mean gap between the two is noted for the decision which one to keep.
Shadow tasks that still run at the end are waited for.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

WORDS, LINES, LENGTH, CLIENTS = 3000, 4, 17, 3


def make_model(layers, seed, device):
    torch.manual_seed(seed)
    config = GPT2Config(vocab_size=WORDS, n_positions=32, n_embd=96, n_layer=layers, n_head=4,
                        bos_token_id=0, eos_token_id=0)
    return GPT2LMHeadModel(config).to(device).eval()


class Server:
    def __init__(self, device):
        self.device = device
        self.control, self.candidate = make_model(2, 1, device), make_model(3, 2, device)
        self.tasks = set()
        self.gap, self.compared, self.answered = 0.0, 0, 0

    @torch.inference_mode()
    def log_probs(self, model, tokens):
        """The log likelihood of each word at each place, on the host."""
        logits = model(input_ids=tokens.to(self.device), use_cache=False).logits
        return torch.log_softmax(logits.float(), dim=-1).cpu().numpy()

    async def shadow(self, tokens, answered):
        """Asks the candidate too, and gives the gap for each word."""
        candidate = await asyncio.to_thread(self.log_probs, self.candidate, tokens)
        gaps = candidate - answered
        self.gap += float(abs(gaps).mean())
        self.compared += 1
        return gaps

    async def weigh(self, tokens):
        """How likely each line is."""
        answered = await asyncio.to_thread(self.log_probs, self.control, tokens)
        task = asyncio.create_task(self.shadow(tokens, answered))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        self.answered += 1
        chosen = answered[:, :-1].reshape(-1, WORDS)[range(LINES * (LENGTH - 1)), tokens[:, 1:].flatten().numpy()]
        return chosen.reshape(LINES, -1).sum(axis=1)

    async def close(self):
        await asyncio.gather(*self.tasks)


async def client(server, end):
    while time.time() < end:
        tokens = torch.randint(WORDS, (LINES, LENGTH))
        likelihoods = await server.weigh(tokens)
        if server.answered % 40 == 0:
            gap = server.gap / max(server.compared, 1)
            print(f"{server.answered} answers, {server.compared} compared, gap {gap:.4f}, "
                  f"best line {likelihoods.argmax()}", flush=True)
        await asyncio.sleep(random.uniform(0.1, 0.4))


async def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    server = Server(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    await asyncio.gather(*(client(server, end) for _ in range(CLIENTS)))
    await server.close()
    print("mean gap", server.gap / server.compared, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
