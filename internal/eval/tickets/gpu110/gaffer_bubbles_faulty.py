"""Wall thickness of blown bubbles in a glass studio.

A camera sees the glowing bubble on the gaffer's pipe, and a network learns to tell how thick the wall is at each
place. For each gather the quality desk looks at the inside of the network through a window of its own, laid over
the places of the bubble which that gather's mould will press, and reads there how strongly the network is excited.

    ticket: practice
    class: app-leak
    holder: trunk window
    cause: hooks-left
"""

import os
import time

import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PIXELS = 1024
WIDTH = 1024
PLACES = 96
BATCH = 128
ROUNDS_PER_SECOND = 10


class WallNet(nn.Module):
    """From the picture of the bubble to the thickness of its wall."""

    def __init__(self) -> None:
        super().__init__()
        self.entry = nn.Linear(PIXELS, WIDTH // 4)
        self.trunk = nn.Linear(WIDTH // 4, WIDTH)
        self.thickness = nn.Linear(WIDTH, PLACES)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.entry(pictures))
        hidden = torch.relu(self.trunk(hidden))
        return self.thickness(hidden)


class MouldProbe:
    """Looks at the trunk of the network through the window of one mould."""

    def __init__(self, gather: int) -> None:
        self.gather = gather
        centre = (gather * 37) % WIDTH
        places = torch.arange(WIDTH, device=DEVICE, dtype=torch.float32)
        slopes = torch.linspace(20.0, 80.0, BATCH, device=DEVICE).unsqueeze(1)
        self.window = torch.exp(-((places - centre) / slopes) ** 2)  # grows
        self.reading: float | None = None

    def __call__(self, module: nn.Module, inputs: tuple, output: torch.Tensor) -> None:
        if self.reading is None:
            excited = output.detach().clamp(min=0.0) * self.window
            self.reading = float(excited.mean())


class Bubbles:
    """Pictures of bubbles, with the wall thickness that the saw found afterwards."""

    def __init__(self, count: int, generator: torch.Generator) -> None:
        walls = 0.5 + torch.rand(count, PLACES, generator=generator)
        glow = torch.randn(PLACES, PIXELS, generator=generator) / PLACES ** 0.5
        self.walls = walls.to(DEVICE)
        self.pictures = (walls @ glow + 0.05 * torch.randn(count, PIXELS, generator=generator)).to(DEVICE)

    def gather(self, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = torch.randint(0, len(self.walls), (BATCH,), generator=generator).to(DEVICE)
        return self.pictures[chosen], self.walls[chosen]


class Studio:
    """Trains the network, gather by gather."""

    def __init__(self, bubbles: Bubbles, generator: torch.Generator) -> None:
        self.bubbles = bubbles
        self.generator = generator
        self.net = WallNet().to(DEVICE)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.02, momentum=0.9)
        self.mean_reading = 0.0
        self.gathers = 0

    def blow(self) -> float:
        self.gathers += 1
        pictures, walls = self.bubbles.gather(self.generator)
        probe = MouldProbe(self.gathers)
        self.net.trunk.register_forward_hook(probe)  # keeps
        forecast = self.net(pictures)
        loss = nn.functional.smooth_l1_loss(forecast, walls)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
        self.optimizer.step()
        self.mean_reading += 0.1 * (probe.reading - self.mean_reading)
        return loss.item()


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(73)
    generator = torch.Generator().manual_seed(73)
    studio = Studio(Bubbles(6000, generator), generator)
    start = time.monotonic()
    smooth = None
    while time.monotonic() - start < SECONDS:
        loss = studio.blow()
        smooth = loss if smooth is None else 0.9 * smooth + 0.1 * loss
        if studio.gathers % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"gather {studio.gathers}: loss {smooth:.4f}, reading {studio.mean_reading:.4f}", flush=True)
        time.sleep(max(0.0, start + studio.gathers / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"the glory hole closes after {studio.gathers} gathers", flush=True)


if __name__ == "__main__":
    main()
