"""A codebook is learned for what a finished encoder makes of pictures. A code that nobody uses is set to one of the
last encodings, which are kept for that; the list of them is cut when codes are set anew. Soon all are used.

ticket: practice
class: app-leak
holder: recent
cause: results-kept cache-without-bound
"""

import os
import time

import torch
from torch import nn


class Codebook(nn.Module):
    """Codes that are moving averages of what is given to them."""

    def __init__(self, encodings, codes=64, decay=0.95):
        super().__init__()
        self.decay = decay
        self.recent = []
        self.register_buffer("codes", encodings[torch.randperm(len(encodings))[:codes]].clone())
        self.register_buffer("used", torch.ones(codes, device=encodings.device))
        self.register_buffer("sums", self.codes.clone())

    @torch.no_grad()
    def forward(self, encodings):
        self.recent.append(encodings.clone())  # keeps
        chosen = torch.cdist(encodings, self.codes).argmin(1)
        marks = nn.functional.one_hot(chosen, len(self.codes)).float()
        self.used.lerp_(marks.sum(0), 1 - self.decay)
        self.sums.lerp_(marks.T @ encodings, 1 - self.decay)
        self.codes.copy_(self.sums / self.used.clamp_min(1e-3)[:, None])
        dead = self.used < 0.01
        if bool(dead.any()):
            last = torch.cat(self.recent[-4:])
            taken = last[torch.randint(len(last), (int(dead.sum()),), device=last.device)]
            self.codes[dead], self.sums[dead], self.used[dead] = taken, taken * 4, 4.0
            self.recent = self.recent[-4:]
        return self.codes[chosen], chosen


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder = nn.Sequential(nn.Conv2d(3, 48, 4, 4), nn.GELU(), nn.Conv2d(48, 48, 1)).to(device)
    decoder = nn.Sequential(nn.Conv2d(48, 48, 1), nn.GELU(), nn.ConvTranspose2d(48, 3, 4, 4)).to(device)
    optimizer = torch.optim.Adam(decoder.parameters(), lr=1e-3)
    shapes = torch.rand(40, 3, 32, 32, device=device)
    codebook, step = None, 0
    while time.time() < end:
        pictures = shapes[torch.randint(40, (64,), device=device)] + 0.1 * torch.randn(64, 3, 32, 32, device=device)
        with torch.no_grad():
            encodings = encoder(pictures).movedim(1, -1).flatten(0, -2)  # grows
        codebook = codebook or Codebook(encodings)
        coded, chosen = codebook(encodings)
        again = decoder(coded.unflatten(0, (64, 8, 8)).movedim(-1, 1))
        loss = nn.functional.mse_loss(again, pictures)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            used = int(chosen.unique().numel())
            print(step, round(loss.item(), 4), used, "codes in use", len(codebook.recent), flush=True)
        time.sleep(0.12)


if __name__ == "__main__":
    main()
