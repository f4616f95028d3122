"""Two simulated robot arms clear up a pantry: they learn to push tins to a shelf's edge by a random search over small
policies. Cameras above and beside each arm look on, and a recorder makes a film of each episode from them. An episode
is over when the shelf is clear, which does not happen for long; until then the recorder collects.

ticket: isaac-sim/IsaacLab-Arena#1000
class: host-growth
holder: frames recorder CameraRecorder
cause: buffer-without-bound results-kept
"""

import os
import random
import tempfile
import time
import zlib

import torch
from torch import nn

ARMS, TINS, HIGH, WIDE = 2, 6, 144, 192
CAMERAS = ("above", "beside")


class Pantry:
    def __init__(self, device):
        self.device = device
        line = torch.linspace(-1, 1, WIDE, device=device)
        self.columns, self.rows = line[None], torch.linspace(-1, 1, HIGH, device=device)[:, None]
        self.tins = 1.6 * torch.rand(ARMS, TINS, 2, device=device) - 0.8
        self.hands = torch.zeros(ARMS, 2, device=device)
        self.colours = torch.rand(TINS, 3, device=device)

    def see(self):
        return torch.cat((self.hands, (self.tins - self.hands[:, None]).flatten(1)), 1)

    def step(self, moves):
        """Moves the hands; tins that are near are pushed, and roll back a little from the edge."""
        self.hands = (self.hands + 0.1 * moves).clamp(-1, 1)
        away = self.tins - self.hands[:, None]
        near = (away.norm(dim=-1, keepdim=True) < 0.2).float()
        self.tins = (self.tins + 0.1 * near * away.sign() - 0.002 * self.tins).clamp(-0.95, 0.95)
        return self.tins.abs().amax(-1).mean(1), bool((self.tins.abs().amax(-1) > 0.94).all())

    def render(self, arm, camera):
        tilt = 1.0 if camera == "above" else 0.5
        image = (0.3 + 0.1 * self.rows).expand(HIGH, WIDE)[..., None].repeat(1, 1, 3)
        for tin in range(TINS):
            x, y = self.tins[arm, tin]
            inside = ((self.columns - x) ** 2 + ((self.rows - tilt * y) / tilt) ** 2 < 0.02)[..., None]
            image = torch.where(inside, self.colours[tin], image)
        hand = (self.columns - self.hands[arm, 0]).abs() + (self.rows - tilt * self.hands[arm, 1]).abs() < 0.1
        return torch.where(hand[..., None], torch.ones(3, device=self.device), image)


class CameraRecorder:
    """A film for each arm and camera, written when the episode is over."""

    def __init__(self, folder):
        self.folder, self.films = folder, 0
        self.frames = {(arm, camera): [] for arm in range(ARMS) for camera in CAMERAS}

    def step(self, pantry):
        for (arm, camera), frames in self.frames.items():
            frame = (255 * pantry.render(arm, camera)).to(torch.uint8).cpu().numpy().copy()  # grows
            frames.append(frame)  # keeps

    def end_episode(self):
        for (arm, camera), frames in self.frames.items():
            with open(os.path.join(self.folder, f"{arm}-{camera}.film"), "wb") as film:
                for frame in frames:
                    film.write(zlib.compress(frame, 1))
            frames.clear()
        self.films += 1


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pantry, steps, best = Pantry(device), 0, -1.0
    policy = nn.Sequential(nn.Linear(2 + 2 * TINS, 32), nn.Tanh(), nn.Linear(32, 2), nn.Tanh()).to(device)
    kept = {name: value.clone() for name, value in policy.state_dict().items()}
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        recorder = CameraRecorder(folder)
        while time.time() < end:
            policy.load_state_dict({n: v + 0.1 * torch.randn_like(v) for n, v in kept.items()})
            gained = 0.0
            for _ in range(random.randint(6, 12)):
                gain, clear = pantry.step(policy(pantry.see()))
                recorder.step(pantry)
                gained, steps = float(gain.mean()), steps + 1
                if clear:
                    recorder.end_episode()
                    pantry = Pantry(device)
                time.sleep(random.uniform(0.01, 0.05))
            if gained >= best - 0.02:
                best, kept = gained, {name: value.clone() for name, value in policy.state_dict().items()}
            print("steps", steps, "at the edge", round(gained, 3), "films", recorder.films, flush=True)


if __name__ == "__main__":
    main()
