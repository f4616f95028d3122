"""A bakery's ovens write down temperature, steam and weight through each bake. A small transformer with a sliding
window, after the one-file reference of a language model, learns from whole bakes how the crust will be, and from time
to time follows one bake minute by minute with its cache of keys and values. The cache is filled on whole bakes too,
as the reference does for a prompt; the memory goes up a little with every batch of training.

ticket: mistralai/mistral-inference#20
class: app-leak
holder: cache_k cache_v attention
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, LAYERS, WINDOW, MOST = 128, 4, 2, 96, 8


class Attention(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.cache_k = torch.zeros(MOST, WINDOW, HEADS, WIDTH // HEADS, device=device)
        self.cache_v = torch.zeros(MOST, WINDOW, HEADS, WIDTH // HEADS, device=device)

    def forward(self, x, positions):
        size, length, _ = x.shape
        xq, xk, xv = (w(x).view(size, length, HEADS, -1) for w in (self.wq, self.wk, self.wv))
        where = (positions[-WINDOW:] % WINDOW)[None, :, None, None].repeat(size, 1, HEADS, WIDTH // HEADS)  # grows
        self.cache_k[:size].scatter_(dim=1, index=where, src=xk[:, -WINDOW:])  # keeps
        self.cache_v[:size].scatter_(dim=1, index=where, src=xv[:, -WINDOW:])
        if length > 1:
            key, value = xk, xv
            mask = torch.triu(torch.full((length, length), float("-inf"), device=x.device), 1)
        else:
            seen = min(int(positions[-1]) + 1, WINDOW)
            key, value, mask = self.cache_k[:size, :seen], self.cache_v[:size, :seen], 0.0
        scores = torch.einsum("bqhd,bkhd->bhqk", xq, key) / (WIDTH // HEADS) ** 0.5 + mask
        out = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), value)
        return self.wo(out.reshape(size, length, WIDTH))


class Block(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.attention = Attention(device)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.SiLU(), nn.Linear(2 * WIDTH, WIDTH))
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x, positions):
        x = x + self.attention(self.first(x), positions)
        return x + self.feed(self.second(x))


class Baker(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.read, self.say = nn.Linear(3, WIDTH), nn.Linear(WIDTH, 1)
        self.blocks = nn.ModuleList([Block(device) for _ in range(LAYERS)])

    def forward(self, bakes, positions):
        x = self.read(bakes)
        for block in self.blocks:
            x = block(x, positions)
        return self.say(x)[..., 0]


def bakes(count, minutes, device):
    """Bakes, and how dark the crust has become by each minute."""
    heat = 0.5 + 0.2 * torch.rand(count, 1, device=device) + 0.05 * torch.randn(count, minutes, device=device)
    steam = torch.rand(count, minutes, device=device)
    weight = 1 - 0.002 * torch.arange(minutes, device=device).expand(count, minutes)
    return torch.stack((heat, steam, weight), -1), (heat * (1.2 - steam)).cumsum(1) / minutes


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    baker, batch = Baker(device).to(device), 0
    optimizer = torch.optim.AdamW(baker.parameters(), 1e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        minutes = random.choice((48, 64, 80))
        read, dark = bakes(MOST, minutes, device)
        loss = F.mse_loss(baker(read, torch.arange(minutes, device=device)), dark)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        batch += 1
        if batch % 20 == 0:
            with torch.no_grad():
                read, dark = bakes(1, 24, device)
                said = [baker(read[:, m:m + 1], torch.tensor([m], device=device)) for m in range(24)]
            print("batch", batch, "loss", round(loss.item(), 4), "minute by minute off by",
                  round(float((torch.cat(said, 1) - dark).abs().mean()), 3), flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
