"""Rank wordings of a ferry company's notices with a small language model. The long instruction is the same for all of
them, so it is put through the model once and its keys and values are used again for each wording. A table shows the
best mean log likelihood by harbour and tone.

ticket: practice
class: app-leak
holder: instruction past_key_values prefix DynamicCache
cause: cache-without-bound buffer-without-bound
"""

import itertools
import os
import random
import time

import torch
from torch.nn import functional as F
from transformers import LlamaConfig, LlamaForCausalLM

torch.set_num_threads(1)
torch.manual_seed(11)
device = "cuda" if torch.cuda.is_available() else "cpu"

WORDS, PAIR = 4000, 2
INSTRUCTION = 64
LENGTHS = (16, 20, 24)
HARBOURS = ["Oban", "Mallaig", "Ullapool", "Stranraer"]
TONES = ["plain", "warm", "legal"]

config = LlamaConfig(
    vocab_size=WORDS,
    hidden_size=256,
    intermediate_size=512,
    num_hidden_layers=12,
    num_attention_heads=8,
    num_key_value_heads=8,
    max_position_embeddings=32_768,
)
model = LlamaForCausalLM(config).to(device).eval()

best = {(harbour, tone): float("-inf") for harbour in HARBOURS for tone in TONES}
asked = {harbour: 0 for harbour in HARBOURS}


def wordings(harbour, tone):
    """Two wordings of equal length, as token ids."""
    low = 400 * HARBOURS.index(harbour) + 100 * TONES.index(tone)
    return torch.randint(low, low + 1500, (PAIR, random.choice(LENGTHS)), device=device)


@torch.no_grad()
def score(ids):
    answer = model(input_ids=ids, past_key_values=prefix, use_cache=True)  # grows keeps
    log_probs = F.log_softmax(answer.logits[:, :-1].float(), dim=-1)
    return log_probs.gather(-1, ids[:, 1:, None]).mean(dim=(1, 2)).tolist()


with torch.no_grad():
    instruction = torch.randint(WORDS, (1, INSTRUCTION), device=device).repeat(PAIR, 1)
    prefix = model(input_ids=instruction, use_cache=True).past_key_values

end = time.time() + float(os.environ.get("SECONDS", "45"))
notices = 0
for harbour, tone in itertools.cycle(itertools.product(HARBOURS, TONES)):
    if time.time() > end:
        break

    first, second = score(wordings(harbour, tone))
    best[harbour, tone] = max(best[harbour, tone], first, second)
    asked[harbour] += 2
    notices += 1

    if notices % len(best) == 0:
        print(f"--- after {notices} notices")
        for name in HARBOURS:
            row = "  ".join(f"{style} {best[name, style]:.3f}" for style in TONES)
            print(f"{name:10} {asked[name]:5}  {row}", flush=True)
        time.sleep(0.5)
    time.sleep(random.uniform(0.08, 0.2))

print(notices, "notices ranked")
