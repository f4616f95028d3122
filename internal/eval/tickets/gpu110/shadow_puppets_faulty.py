"""A network that draws the shadows of a shadow theatre.

From the angles of the rods and the place of the lamp it learns to paint the shadow that a leather puppet throws on
the screen. Every four seconds the weights are set aside as a draft; the screen master shows the mean of the latest
three drafts, because it flickers less than the newest weights do.

    ticket: practice
    class: app-leak
    holder: _drafts
    cause: snapshots-kept
"""

import os
import time
from collections import deque

import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
RODS = 12
SCREEN = 64
WIDTH = 1024
BATCH = 24
ROUNDS_PER_SECOND = 5
DRAFT_EVERY = 4.0
DRAFTS_SHOWN = 3


class ShadowNet(nn.Module):
    """Rod angles and lamp position to a picture of the screen."""

    def __init__(self) -> None:
        super().__init__()
        self.rods = nn.Linear(RODS + 2, WIDTH)
        self.leather = nn.Linear(WIDTH, WIDTH * 2)
        self.screen = nn.Linear(WIDTH * 2, SCREEN * SCREEN // 2)

    def forward(self, pose: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(self.rods(pose))
        hidden = torch.relu(self.leather(hidden))
        return torch.sigmoid(self.screen(hidden))


class Stage:
    """Poses the puppet and shows what the lamp would really throw."""

    def __init__(self, generator: torch.Generator) -> None:
        self.generator = generator
        self.limbs = torch.randn(RODS + 2, SCREEN * SCREEN // 2, generator=generator).to(DEVICE)

    def pose(self) -> tuple[torch.Tensor, torch.Tensor]:
        pose = torch.randn(BATCH, RODS + 2, generator=self.generator).to(DEVICE)
        shadow = (pose @ self.limbs > 0.0).float()
        return pose, shadow


class ScreenMaster:
    """Sets the drafts aside and shows the mean of the latest."""

    def __init__(self) -> None:
        self._drafts: deque[dict[str, torch.Tensor]] = deque()
        self.shown = ShadowNet().to(DEVICE)

    def set_aside(self, net: ShadowNet) -> None:
        draft = {name: weight.detach().clone() for name, weight in net.state_dict().items()}  # grows
        self._drafts.append(draft)  # keeps

    def latest(self) -> list[dict[str, torch.Tensor]]:
        return [draft for draft, _ in zip(reversed(self._drafts), range(DRAFTS_SHOWN))]

    @torch.no_grad()
    def show(self, pose: torch.Tensor, shadow: torch.Tensor) -> float:
        drafts = self.latest()
        for name, weight in self.shown.state_dict().items():
            weight.zero_()
            for draft in drafts:
                weight.add_(draft[name], alpha=1.0 / len(drafts))
        return float(nn.functional.binary_cross_entropy(self.shown(pose), shadow))


class Workshop:
    """Trains the network on ever new poses."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.net = ShadowNet().to(DEVICE)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.5, momentum=0.8)

    def practise(self) -> float:
        pose, shadow = self.stage.pose()
        loss = nn.functional.binary_cross_entropy(self.net(pose), shadow)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(27)
    workshop = Workshop(Stage(torch.Generator().manual_seed(27)))
    master = ScreenMaster()
    start = time.monotonic()
    next_draft = DRAFT_EVERY
    rounds = 0
    drafts = 0
    while time.monotonic() - start < SECONDS:
        loss = workshop.practise()
        rounds += 1
        if time.monotonic() - start >= next_draft:
            next_draft += DRAFT_EVERY
            drafts += 1
            master.set_aside(workshop.net)
            shown = master.show(*workshop.stage.pose())
            print(f"draft {drafts}: trained {loss:.4f}, shown {shown:.4f}", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"lamp out after {rounds} rounds and {drafts} drafts", flush=True)


if __name__ == "__main__":
    main()
