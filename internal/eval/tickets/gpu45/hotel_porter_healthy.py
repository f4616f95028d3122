"""The night porter of a hotel is a language model. A guest asks a few questions in the course of the stay; what the
model has read of the conversation stays in its key-value cache, so that only the new question has to be read. When the
guest has checked out, the next one moves in.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

ROOMS, QUESTION, REPLY = 6, 48, 10
WORDS = 4000

torch.manual_seed(11)
random.seed(11)
torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
end = time.time() + float(os.environ.get("SECONDS", "45"))

config = GPT2Config(vocab_size=WORDS, n_positions=512, n_embd=512, n_layer=8, n_head=8, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config).to(device).eval()
print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f} million parameters on {device}", flush=True)

caches = {}  # by guest
questions_left = {}  # by guest
next_guest = 0


def move_in():
    global next_guest
    questions_left[next_guest] = random.randint(2, 6)
    next_guest += 1


@torch.no_grad()
def answer(guest, question):
    """The porter's answer, a word at a time. The question goes behind what the guest has said before."""
    cache = caches.get(guest)
    tokens = question.to(device)
    reply = []
    for _ in range(REPLY):
        out = model(tokens, past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        tokens = out.logits[:, -1:].argmax(dim=-1)
        reply.append(tokens.item())
    caches[guest] = cache
    return reply


for _ in range(ROOMS):
    move_in()

answered = 0
while time.time() < end:
    guest = random.choice(list(questions_left))
    question = torch.randint(1, WORDS, (1, QUESTION))
    reply = answer(guest, question)
    answered += 1

    questions_left[guest] -= 1
    if questions_left[guest] == 0:
        del questions_left[guest], caches[guest]
        move_in()

    if answered % 20 == 0:
        rooms = ", ".join(str(g) for g in sorted(questions_left))
        print(f"{answered} answers, guests in the house: {rooms}, last words {reply[-3:]}", flush=True)
    time.sleep(random.uniform(0.02, 0.15))
