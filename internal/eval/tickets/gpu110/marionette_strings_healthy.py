"""Training of a model that sets the strings of marionettes in a puppet theatre.

The controls that a puppeteer holds are filmed from rehearsal to rehearsal; from their motion the network forecasts
how tight each of the strings is, frame by frame. The theatre plays in short acts, and after each act the stage
manager wants to know which string was forecast worst.

    ticket: practice
    class: none
"""

import os
import time
from dataclasses import dataclass

import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STRINGS = 24
FRAMES = 68
BATCH = 128
CLIPS = 4000
ROUNDS_PER_SECOND = 10
ROUNDS_PER_ACT = 30


@dataclass
class Take:
    """One pass of a batch of clips through the network."""

    act: int
    loss: float
    residual: torch.Tensor


class ClipLibrary:
    """Filmed control motion, with the string tension that was measured at the same time."""

    def __init__(self, clips: int, generator: torch.Generator) -> None:
        phase = torch.rand(clips, STRINGS, 1, generator=generator) * 6.283
        speed = 0.5 + torch.rand(clips, 1, 1, generator=generator)
        clock = torch.linspace(0.0, 6.283, FRAMES).view(1, 1, FRAMES)
        motion = torch.sin(clock * speed + phase)
        sag = torch.rand(1, STRINGS, 1, generator=generator)
        self.motion = motion.reshape(clips, -1).to(DEVICE)
        self.tension = (motion.clamp(min=0.0) * (1.0 + sag)).reshape(clips, -1).to(DEVICE)

    def draw(self, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = torch.randint(0, len(self.motion), (BATCH,), generator=generator).to(DEVICE)
        return self.motion[chosen], self.tension[chosen]


class TensionNet(nn.Module):
    """From the motion of the control bar to the tension of every string."""

    def __init__(self, width: int = 192) -> None:
        super().__init__()
        self.inward = nn.Linear(STRINGS * FRAMES, width)
        self.middle = nn.Linear(width, width)
        self.outward = nn.Linear(width, STRINGS * FRAMES)

    def forward(self, motion: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.inward(motion))
        hidden = hidden + torch.relu(self.middle(hidden))
        return self.outward(hidden)


class Rehearsal:
    """Runs the training and tells the stage manager how the acts went."""

    def __init__(self, library: ClipLibrary, generator: torch.Generator) -> None:
        self.library = library
        self.generator = generator
        self.net = TensionNet().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.act = 1
        self.takes: list[Take] = []

    def step(self) -> None:
        motion, tension = self.library.draw(self.generator)
        forecast = self.net(motion)
        loss = nn.functional.mse_loss(forecast, tension)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        residual = torch.sub(tension, forecast.detach())
        self.takes.append(Take(self.act, loss.item(), residual))

    def close_act(self) -> str:
        played = [take for take in self.takes if take.act == self.act]
        worst = torch.zeros(STRINGS, device=DEVICE)
        for take in played:
            by_string = take.residual.view(BATCH, STRINGS, FRAMES).abs().mean(dim=(0, 2))
            worst = torch.maximum(worst, by_string)
        mean_loss = sum(take.loss for take in played) / len(played)
        line = f"act {self.act}: loss {mean_loss:.4f}, worst string {int(worst.argmax())}"
        self.takes.clear()
        self.act += 1
        return line


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(31)
    generator = torch.Generator().manual_seed(31)
    rehearsal = Rehearsal(ClipLibrary(CLIPS, generator), generator)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        rehearsal.step()
        rounds += 1
        if rounds % ROUNDS_PER_ACT == 0:
            print(rehearsal.close_act(), flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"curtain after {rounds} rounds and {rehearsal.act - 1} acts", flush=True)


if __name__ == "__main__":
    main()
