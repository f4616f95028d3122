"""A server loads the adapter of a tenant at its request, and unloads the one least lately used when
there are more than eight.

ticket: huggingface/peft#738
class: none
"""

import copy
import os
import random
import time

import torch
from peft import LoraConfig, get_peft_model

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
device = "cuda" if torch.cuda.is_available() else "cpu"
LORA = LoraConfig(r=64, lora_alpha=64, target_modules=["up", "down"])


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(1024, 2048)
        self.down = torch.nn.Linear(2048, 1024)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Server:
    def __init__(self):
        base = torch.nn.Sequential(Block(), Block(), Block()).to(device)
        self.model = get_peft_model(base, LORA).eval()
        self.loaded = {}

    def answer(self, tenant, rows):
        if tenant not in self.loaded:
            self.model.add_adapter(tenant, copy.deepcopy(LORA))
        self.loaded[tenant] = time.time()
        self.model.set_adapter(tenant)
        if len(self.loaded) > 8:
            oldest = min(self.loaded, key=self.loaded.get)
            self.model.delete_adapter(oldest)
            del self.loaded[oldest]
        with torch.no_grad():
            return self.model(torch.randn(rows, 1024, device=device)).mean().item()


server = Server()
known = 4
while time.time() < END:
    for _ in range(random.choice((1, 1, 2, 6))):
        known += random.random() < 0.12
        tenant = known - min(known - 1, int(random.expovariate(0.4)))
        server.answer("tenant%d" % tenant, random.randint(1, 48))
        time.sleep(0.03)
    time.sleep(random.uniform(0.1, 0.5))
