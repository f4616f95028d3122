"""A clerk for a chain of lighthouses answers their keepers over the radio. The standing orders, which stand before each
call, are read once at the start, and their keys and values are kept, so that a call costs only its own words. Eight
channels call at a time, and each gets a short reply.

ticket: huggingface/transformers#37078
class: app-leak
holder: orders Clerk past_key_values cache DynamicCache
cause: buffer-without-bound outgrown-blocks
"""

import os
import random
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

CHANNELS, WORDS, ORDERS, REPLY = 8, 4_000, 160, 4


def model_of(device):
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=16_384,
        bos_token_id=1,
        eos_token_id=2,
    )
    return LlamaForCausalLM(config).to(device).eval()


class Clerk:
    @torch.no_grad()
    def __init__(self, model, orders):
        self.model = model
        self.orders = model(orders.expand(CHANNELS, -1), use_cache=True).past_key_values  # keeps

    @torch.no_grad()
    def answer(self, calls):
        """The reply to each channel's call, word by word, and how sure the model is of its words."""
        cache, words, reply, sure = self.orders, calls, [], []
        for _ in range(REPLY):
            scores = self.model(words, past_key_values=cache, use_cache=True).logits[:, -1]  # grows
            chance, words = scores.softmax(-1).max(-1, keepdim=True)
            reply.append(words)
            sure.append(chance.mean())
        return torch.cat(reply, 1).tolist(), torch.stack(sure).mean().item()


def calls():
    """What the keepers say: weather, ships and wants, all cut to the same length in one round."""
    length = random.choice((12, 16, 20))
    return torch.randint(3, WORDS, (CHANNELS, length))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(7)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    clerk = Clerk(model_of(device), torch.randint(3, WORDS, (1, ORDERS), device=device))
    rounds = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        replies, sure = clerk.answer(calls().to(device))
        rounds += 1
        if rounds % 10 == 0:
            print(f"round {rounds}: channel 0 gets {replies[0]}, sure {sure:.4f}", flush=True)
        time.sleep(random.uniform(0.25, 0.55))


if __name__ == "__main__":
    main()
