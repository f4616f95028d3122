"""Where are the drifting buoys? Each of them reports its position over a noisy satellite link, and a Kalman filter with
four states follows it. The noise levels of the filter are parameters of the module: they are fitted by another program
in winter and only loaded here. The filter has no memory besides the mean and the covariance of each buoy.

ticket: practice
class: app-leak
holder: mean cov Tracker tracker
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn

BUOYS, STATES, SEEN = 12_288, 4, 2
HOUR = 0.25


class Tracker(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_process = nn.Parameter(torch.tensor([-6.0, -6.0, -4.0, -4.0]))
        self.log_link = nn.Parameter(torch.tensor([-2.0, -2.0]))
        motion = torch.eye(STATES)
        motion[0, 2] = motion[1, 3] = HOUR
        self.register_buffer("motion", motion)
        self.register_buffer("mean", torch.zeros(BUOYS, STATES))
        self.register_buffer("cov", torch.eye(STATES).repeat(BUOYS, 1, 1))

    def load_fit(self, fit):
        """The noise levels that were fitted in winter."""
        with torch.no_grad():
            self.log_process.copy_(fit["process"])
            self.log_link.copy_(fit["link"])

    def update(self, reported):
        """Take in one position of each buoy. It returns how surprising each of them was."""
        mean = self.mean @ self.motion.T
        cov = self.motion @ self.cov @ self.motion.T + torch.diag(self.log_process.exp())  # grows
        spread = cov[:, :SEEN, :SEEN] + torch.diag(self.log_link.exp())
        precision = torch.linalg.inv(spread)  # grows
        gain = cov[:, :, :SEEN] @ precision  # grows
        surprise = (reported - mean[:, :SEEN]).unsqueeze(-1)  # grows
        self.mean = mean + (gain @ surprise).squeeze(-1)  # keeps
        self.cov = cov - gain @ cov[:, :SEEN]  # keeps
        distance = surprise.transpose(1, 2) @ precision @ surprise
        return distance.flatten().detach()


class Sea:
    """The true buoys, which a slow current carries about."""

    def __init__(self, device):
        self.place = torch.randn(BUOYS, SEEN, device=device)
        self.speed = 0.1 * torch.randn(BUOYS, SEEN, device=device)

    def report(self):
        self.speed = 0.99 * self.speed + 0.02 * torch.randn_like(self.speed)
        self.place = self.place + HOUR * self.speed
        return self.place + 0.35 * torch.randn_like(self.place)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tracker, sea, passes, lost = Tracker().to(device), Sea(device), 0, 0
    tracker.load_fit({"process": torch.tensor([-7.0, -7.0, -5.5, -5.5]), "link": torch.tensor([-2.1, -2.1])})
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        distance = tracker.update(sea.report())
        lost += int((distance > 13.8).sum())
        passes += 1
        if passes % 20 == 0:
            error = (tracker.mean.detach()[:, :SEEN] - sea.place).norm(dim=1).mean().item()
            print(f"pass {passes}: mean error {error:.3f} km, {lost} positions were doubtful", flush=True)
        time.sleep(random.uniform(0.04, 0.14))


if __name__ == "__main__":
    main()
