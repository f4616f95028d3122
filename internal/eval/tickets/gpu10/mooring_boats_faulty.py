"""Many small boats learn at once to moor, from pictures of the harbour, by Q-learning with a target network. What they
have seen and done goes into a memory, out of which the batches are drawn.

ticket: practice
class: app-leak
holder: memory
cause: buffer-without-bound
"""

import collections
import copy
import os
import random
import time

import torch
from torch import nn

BOATS, SIZE, MOVES = 48, 40, 5
Transition = collections.namedtuple("Transition", "seen move reward after over")


class Harbour:
    """Some harbours with a boat and a berth in each; the wind pushes the boats about."""

    def __init__(self, device):
        self.device, self.line = device, torch.arange(SIZE, device=device, dtype=torch.float32)
        self.steer = torch.tensor([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], device=device, dtype=torch.float32)
        self.boat = torch.rand(BOATS, 2, device=device) * SIZE
        self.berth = torch.rand(BOATS, 2, device=device) * SIZE

    def blob(self, where):
        far = (self.line - where[:, :1])[:, None].square() + (self.line - where[:, 1:])[..., None].square()
        return torch.exp(-far / 8)

    def look(self):
        return torch.stack([self.blob(self.boat), self.blob(self.berth)], 1)  # grows

    def go(self, move):
        before = (self.boat - self.berth).norm(dim=1)
        wind = 0.3 * torch.randn(BOATS, 2, device=self.device)
        self.boat = (self.boat + 2 * self.steer[move] + wind).clamp(0, SIZE - 1)
        after = (self.boat - self.berth).norm(dim=1)
        over = after < 2.5
        again = torch.rand(BOATS, 2, device=self.device) * SIZE
        self.boat = torch.where(over[:, None], again, self.boat)
        return before - after + 5 * over, over


class Agent:
    def __init__(self, device):
        self.device = device
        self.value = nn.Sequential(nn.Conv2d(2, 12, 5, 2), nn.ReLU(), nn.Conv2d(12, 16, 5, 2), nn.ReLU(),
                                   nn.Flatten(), nn.Linear(16 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, MOVES)).to(device)
        self.target = copy.deepcopy(self.value).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.value.parameters(), lr=5e-4)
        self.memory = collections.deque()

    @torch.no_grad()
    def move(self, seen, curious):
        best = self.value(seen).argmax(1)
        any_move = torch.randint(MOVES, best.shape, device=self.device)
        return torch.where(torch.rand(best.shape, device=self.device) < curious, any_move, best)

    def remember(self, *what):
        self.memory.append(Transition(*what))  # keeps

    def learn(self):
        for seen, move, reward, after, over in random.sample(self.memory, 2):
            hoped = reward + 0.95 * ~over * self.target(after).max(1).values
            said = self.value(seen).gather(1, move[:, None])[:, 0]
            loss = nn.functional.smooth_l1_loss(said, hoped)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.detach()


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    harbour, agent, step, moored = Harbour(device), Agent(device), 0, 0
    seen = harbour.look()
    while time.time() < end:
        move = agent.move(seen, max(0.05, 1 - step / 200))
        reward, over = harbour.go(move)
        after = harbour.look()
        agent.remember(seen, move, reward, after, over)
        seen, step, moored = after, step + 1, moored + int(over.sum())
        if step > 10:
            loss = agent.learn()
        if step % 40 == 0:
            agent.target.load_state_dict(agent.value.state_dict())
            print("step", step, "moored", moored, "loss", round(float(loss), 4), flush=True)
        time.sleep(random.uniform(0.02, 0.08))


if __name__ == "__main__":
    main()
