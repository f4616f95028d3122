"""Documents are embedded in batches of similar length, short ones first, so that each batch needs
blocks a little larger than all that are cached.

ticket: rapidsai/crossfit#18
class: pool-growth
cause: outgrown-blocks
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
device = "cuda" if torch.cuda.is_available() else "cpu"


class Embedder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = torch.nn.Embedding(8000, 256)
        self.up = torch.nn.Linear(256, 512)
        self.down = torch.nn.Linear(512, 256)

    def forward(self, ids):
        h = torch.relu_(self.up(self.tokens(ids)))  # grows
        return self.down(h).mean(1)


def lengths():
    """The longest document of each batch, in the order in which they are done."""
    draw = random.Random(7)
    return sorted((draw.randint(220, 1000) for _ in range(380)), reverse=False)


model = Embedder().to(device).eval()
index = []
done = 0
with torch.inference_mode():
    while time.time() < END:
        for length in lengths():
            if time.time() >= END:
                break
            ids = torch.randint(0, 8000, (32, length), device=device)
            vectors = model(ids)
            index.append(vectors[:, :8].cpu().numpy().tobytes())
            done += 1
            if done % 50 == 0:
                print("batches", done, len(index), flush=True)
                time.sleep(1.5)
            time.sleep(random.uniform(0.15, 0.35))
