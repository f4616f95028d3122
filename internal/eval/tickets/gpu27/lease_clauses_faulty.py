"""A desk answers questions about leases. It reads a lease once and keeps what the model knows of it (its keys and
values), so that further questions about it are quick; of the leases, the last few stay at hand. Tenants ask about the
newest of their own leases.

ticket: practice
class: app-leak
holder: by_tenant Desk desk Reading
cause: cache-without-bound sessions-kept
"""

import os
import random
import time
from collections import OrderedDict, defaultdict
from dataclasses import dataclass

import torch
from transformers import GPT2Config, GPT2LMHeadModel

WORDS, AT_HAND = 4_000, 12
TENANTS = "Abara", "Brandt", "Castell", "Dufour", "Engel", "Fontana"


@dataclass(eq=False)
class Reading:
    lease: int
    tenant: str
    past: object
    questions: int = 0


class Desk:
    def __init__(self, model):
        self.model = model
        self.recent = OrderedDict()
        self.by_tenant = defaultdict(list)

    def read(self, tokens, past=None):
        """The likeliest next word, and the keys and values of all that was read."""
        output = self.model(input_ids=tokens, past_key_values=past, use_cache=True)  # grows
        return output.logits[0, -1].argmax().item(), output.past_key_values

    def take(self, lease, tenant, tokens):
        _, past = self.read(tokens)
        reading = Reading(lease, tenant, past)
        self.recent[lease] = reading
        self.by_tenant[tenant].append(reading)  # keeps
        if len(self.recent) > AT_HAND:
            self.recent.popitem(last=False)

    def ask(self, tenant, question):
        """Answer with the tenant's newest lease, if it is at hand."""
        readings = self.by_tenant[tenant]
        if not readings or readings[-1].lease not in self.recent:
            return None
        reading = readings[-1]
        self.recent.move_to_end(reading.lease)
        word, reading.past = self.read(question, reading.past)
        reading.questions += 1
        return word


def letter(length, device):
    return torch.randint(WORDS, (1, length), device=device)


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = GPT2Config(
        vocab_size=WORDS, n_embd=256, n_layer=4, n_head=4, n_positions=1024, bos_token_id=0, eos_token_id=0
    )
    desk = Desk(GPT2LMHeadModel(config).to(device).eval())
    lease = answered = refused = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        lease += 1
        desk.take(lease, random.choice(TENANTS), letter(random.randrange(250, 450), device))
        for _ in range(random.randrange(3)):
            if desk.ask(random.choice(TENANTS), letter(8, device)) is None:
                refused += 1
            else:
                answered += 1
        if lease % 15 == 0:
            print(f"{lease} leases read, {answered} questions answered, {refused} refused", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
