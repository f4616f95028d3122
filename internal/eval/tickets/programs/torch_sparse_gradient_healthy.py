"""Sparse gradients of an embedding are zeroed before each backward pass.

ticket: pytorch/pytorch#34964
class: none
"""

import os
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))
embedding = torch.nn.Embedding(50_000, 32, sparse=True)
while time.time() < END:
    embedding.zero_grad(set_to_none=True)
    words = torch.randint(0, 50_000, (512,))
    embedding(words).sum().backward()
    with torch.no_grad():
        embedding.weight[words] *= 0.999
    time.sleep(0.03)
