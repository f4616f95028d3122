"""A corpus is embedded shard after shard for a search. The vectors of one shard are on the device until it
was searched; only the best hits are kept.

ticket: huggingface/sentence-transformers#487
class: none
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
END = time.time() + float(os.environ.get("SECONDS", "40"))


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(5000, 256)
        self.layer = torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True)

    def forward(self, tokens):
        return self.layer(self.words(tokens))


model = Encoder().to(device).eval()
query = torch.randn(256, device=device)
best = torch.full((20,), -1e9, device=device)
while time.time() < END:
    all_embeddings = []
    for _ in range(random.randint(8, 30)):
        tokens = torch.randint(0, 5000, (random.randint(8, 32), random.randint(30, 120)), device=device)
        with torch.no_grad():
            hidden = model(tokens)
        all_embeddings.append(hidden[:, 0])
        time.sleep(random.uniform(0.05, 0.4))
    scores = torch.cat(all_embeddings) @ query
    best = torch.cat([best, scores]).topk(20).values
    time.sleep(1.0)
print(best[0].item())
