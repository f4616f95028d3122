"""A studio prints marbled papers that a small denoising model draws. A customer picks how strongly the chosen colours
steer the drawing, and the sheet is drawn in eight steps. A step is captured as a CUDA graph, because its kernels are
small and launching them takes longer than running them.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn

SHEETS, PATCHES, WIDTH, COLOURS, STEPS = 8, 256, 256, 24, 8


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.colours = nn.Embedding(COLOURS + 1, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 3 * WIDTH), nn.GELU(), nn.Linear(3 * WIDTH, WIDTH)) for _ in range(2)
        )

    def forward(self, sheets, colours):
        hidden = sheets + self.colours(colours)[:, None]
        for norm, block in zip(self.norms, self.blocks):
            hidden = hidden + block(norm(hidden))
        return hidden

    def guided(self, sheets, colours, strength):
        """The step towards the chosen colours: the plain one, and `strength` times what the colours change in it."""
        plain = self(sheets, torch.full_like(colours, COLOURS))
        return sheets - (plain + strength * (self(sheets, colours) - plain)) / STEPS


class Studio:
    def __init__(self, device):
        self.model = Denoiser().to(device).eval()
        self.sheets = torch.zeros(SHEETS, PATCHES, WIDTH, device=device)
        self.colours = torch.zeros(SHEETS, dtype=torch.long, device=device)
        self.captures = device == "cuda"
        self.side = torch.cuda.Stream() if self.captures else None
        self.strength = torch.zeros((), device=device)
        self.graph = None

    def capture(self):
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            self.model.guided(self.sheets, self.colours, self.strength)
        torch.cuda.current_stream().wait_stream(self.side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.sheets.copy_(self.model.guided(self.sheets, self.colours, self.strength))
        return graph

    @torch.no_grad()
    def draw(self, colours, strength):
        if self.captures and self.graph is None:
            self.graph = self.capture()
        self.sheets.normal_()
        self.colours.copy_(colours)
        self.strength.fill_(strength)
        for _ in range(STEPS):
            if self.captures:
                self.graph.replay()
            else:
                self.sheets.copy_(self.model.guided(self.sheets, self.colours, self.strength))
        return self.sheets.std().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    studio, orders = Studio(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        strength = round(random.uniform(1.0, 9.0), 3)
        contrast = studio.draw(torch.randint(COLOURS, (SHEETS,)), strength)
        orders += 1
        if orders % 4 == 0:
            print(f"order {orders}: strength {strength:.3f}, contrast {contrast:.3f}", flush=True)
        time.sleep(random.uniform(0.8, 1.6))


if __name__ == "__main__":
    main()
