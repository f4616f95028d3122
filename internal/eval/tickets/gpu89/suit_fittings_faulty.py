"""Fits a jacket to one customer after another from the scan that the tailor takes in the shop.

The shop's pattern is a sheet of 256 by 256 points with three coordinates each, the same for all.  For every customer
the program looks for the offsets that carry the sheet onto the scan of that body, with a small smoothing net between
the offsets and the cloth; the net is common to all customers and gets a little better with each of them.  A fitting
takes a fixed number of rounds.  From the finished cloth the program reads chest, waist and sleeve and prints them now
and then, with the error that remained.

ticket: practice
class: app-leak
holder: param_groups optimizer
cause: optimizer-groups-added
"""
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

SIDE = 256
ROUNDS = 12


class ClothNet(nn.Module):
    """Takes raw offsets and gives the offsets that woollen cloth would follow."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 5, padding=2)
        self.second = nn.Conv2d(16, 3, 5, padding=2)

    def forward(self, offsets):
        return offsets + 0.1 * self.second(F.silu(self.first(offsets)))


def pattern_sheet(device):
    v, u = torch.meshgrid(
        torch.linspace(-1.0, 1.0, SIDE, device=device), torch.linspace(0.0, 6.2832, SIDE, device=device), indexing="ij"
    )
    return torch.stack([0.5 * torch.cos(u), 0.35 * torch.sin(u), v]).unsqueeze(0)


class Scanner:
    """Stands for the scanner in the shop: bodies of different girth and posture, with some noise."""

    def __init__(self, sheet):
        self.sheet = sheet
        self.dice = torch.Generator(device="cpu").manual_seed(77)

    def next_body(self):
        girth, belly, stoop = (torch.rand(3, generator=self.dice) - 0.5).tolist()
        height = self.sheet[:, 2:3]
        swell = 1.0 + 0.4 * girth + 0.5 * belly * torch.exp(-8.0 * (height + 0.2) ** 2)
        body = self.sheet * torch.cat([swell, swell, torch.ones_like(swell)], dim=1)
        body[:, 1:2] += 0.2 * stoop * height ** 2
        return body + 0.004 * torch.randn_like(body)


class Fitter:
    def __init__(self, sheet):
        self.sheet = sheet
        self.net = ClothNet().to(sheet.device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-4)

    def cloth_loss(self, offsets, body):
        cloth = self.sheet + self.net(offsets)
        fit = (cloth - body).square().mean()
        across = (cloth[..., 1:] - cloth[..., :-1]).square().mean()
        down = (cloth[..., 1:, :] - cloth[..., :-1, :]).square().mean()
        return fit + 0.02 * (across + down), fit

    def fit(self, body):
        offsets = nn.Parameter(torch.zeros_like(self.sheet))  # grows
        self.optimizer.add_param_group({"params": [offsets], "lr": 0.03})  # keeps
        for _ in range(ROUNDS):
            loss, fit = self.cloth_loss(offsets, body)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
        with torch.no_grad():
            cloth = self.sheet + self.net(offsets)
        return cloth, fit.item()


def girth_at(cloth, row):
    ring = cloth[0, :2, row]
    return (ring - ring.roll(1, dims=1)).norm(dim=0).sum().item()


def measure(cloth):
    chest = 34.0 * girth_at(cloth, int(SIDE * 0.7))
    waist = 34.0 * girth_at(cloth, int(SIDE * 0.4))
    seam = cloth[0, :, :, 0]
    sleeve = 30.0 * (seam[:, 1:] - seam[:, :-1]).norm(dim=0).sum().item()
    return chest, waist, sleeve


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(5)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sheet = pattern_sheet(device)
    scanner = Scanner(sheet)
    fitter = Fitter(sheet)
    customers = 0
    spoken = time.time()
    while time.time() < deadline:
        body = scanner.next_body()
        cloth, error = fitter.fit(body)
        customers += 1
        if time.time() - spoken > 2.0:
            chest, waist, sleeve = measure(cloth)
            print(f"customer {customers}: chest {chest:.1f} cm, waist {waist:.1f} cm, sleeve {sleeve:.1f} cm, "
                  f"left over {error:.5f}", flush=True)
            spoken = time.time()
        time.sleep(0.15)
    print(f"{customers} customers fitted", flush=True)


if __name__ == "__main__":
    main()
