"""A player learns to catch what falls, from small pictures, on the device; all that it has seen and done is written to
files by a pickler, made once. What the pickler remembers of a step is cleared after it.

ticket: practice
class: none
"""

import os
import pickle
import random
import tempfile
import time

import numpy as np
import torch
from torch import nn

COUNT, SIZE = 24, 56


class Falling:
    """Many games at once: a drop falls, a tray below moves."""

    def __init__(self):
        self.numbers = np.random.default_rng()
        self.drop = self.numbers.integers(0, SIZE, (COUNT, 2))
        self.tray = np.full(COUNT, SIZE // 2)

    def picture(self):
        seen = self.numbers.integers(0, 30, (COUNT, SIZE, SIZE), dtype=np.uint8)
        game = np.arange(COUNT)
        seen[game, self.drop[:, 0], self.drop[:, 1]] = 255
        seen[game, SIZE - 1, self.tray] = 200
        return seen

    def step(self, action):
        self.tray = np.clip(self.tray + 3 * (action - 1), 0, SIZE - 1)
        self.drop[:, 0] += 3
        down = self.drop[:, 0] >= SIZE
        reward = np.where(down, np.where(abs(self.drop[:, 1] - self.tray) < 6, 1.0, -1.0), 0.0).astype(np.float32)
        self.drop[down] = np.stack([np.zeros(down.sum(), int), self.numbers.integers(0, SIZE, down.sum())], 1)
        return reward


class Writer:
    """Pickles into a file, which begins anew when it is full."""

    def __init__(self, folder, full=32 << 20):
        self.file, self.full, self.files = open(os.path.join(folder, "trajectory.pickle"), "wb"), full, 1
        self.pickler = pickle.Pickler(self, protocol=5)

    def write(self, piece):
        return self.file.write(piece)

    def add(self, **step):
        self.pickler.dump(step)
        self.pickler.clear_memo()
        if self.file.tell() > self.full:
            self.file.seek(0)
            self.file.truncate()
            self.files += 1


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    player = nn.Sequential(nn.Conv2d(1, 8, 8, 4), nn.ReLU(), nn.Conv2d(8, 16, 4, 2), nn.ReLU(), nn.Flatten(),
                           nn.Linear(400, 64), nn.ReLU(), nn.Linear(64, 3)).to(device)
    optimizer = torch.optim.Adam(player.parameters(), lr=5e-4)
    with tempfile.TemporaryDirectory() as folder:
        games, writer, steps, total = Falling(), Writer(folder), 0, 0.0
        while time.time() < end:
            chances, rewards = [], []
            for _ in range(random.choice((6, 10, 19))):
                seen = games.picture()
                inputs = torch.from_numpy(seen).to(device)[:, None].float() / 255
                choice = torch.distributions.Categorical(logits=player(inputs))
                action = choice.sample()
                reward = games.step(action.cpu().numpy())
                writer.add(seen=seen, action=action.tolist(), reward=reward)
                chances.append(choice.log_prob(action))
                rewards.append(torch.from_numpy(reward).to(device))
                steps += 1
                time.sleep(0.01)
            rewards = torch.stack(rewards).flip(0).cumsum(0).flip(0)
            loss = -(torch.stack(chances) * (rewards - rewards.mean())).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total = 0.9 * total + 0.1 * float(rewards[0].mean())
            if random.random() < 0.1:
                print(steps, "steps", "reward", round(total, 3), "files", writer.files, flush=True)
        writer.file.close()


if __name__ == "__main__":
    main()
