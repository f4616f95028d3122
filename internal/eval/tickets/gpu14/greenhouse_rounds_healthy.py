"""A policy learns to heat, water and air greenhouses. Some greenhouses are run side by side; a callback notes for every
step what the environment tells besides the reward, and when a day is over, its notes go into the means over the last
days. Over how many days, the configuration says; with 0 only those that have just ended count.

ticket: ray-project/ray#21041
class: none
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn

HOUSES, BEDS, SHORTEST, LONGEST = 12, 72, 30, 60
CONFIG = {"lr": 3e-3, "smoothing_episodes": 0}


class Greenhouse:
    def reset(self):
        self.warm = np.random.uniform(8, 14, (BEDS, BEDS)).astype(np.float32)
        self.wet = np.random.uniform(0.2, 0.5, (BEDS, BEDS)).astype(np.float32)
        self.left = random.randint(SHORTEST, LONGEST)
        return self.look()

    def look(self):
        return np.array([self.warm.mean(), self.warm.std(), 20 * self.wet.mean(), self.left / 10], np.float32)

    def step(self, action):
        heat, water, air = action
        self.warm = 0.98 * self.warm + heat - 0.5 * air + np.random.normal(0, 0.2, self.warm.shape).astype(np.float32)
        self.wet = np.clip(self.wet + 0.05 * water - 0.002 * self.warm, 0, 1)
        self.left -= 1
        grown = np.exp(-(((self.warm - 22) / 8) ** 2)) * self.wet
        return self.look(), float(grown.mean()), self.left == 0, {"grown": grown, "wetness": self.wet.mean()}


class Episode:
    def __init__(self):
        self.reward, self.hist_data = 0.0, {}


class MonitorInfo:
    def on_episode_step(self, episode, info):
        for key, value in info.items():
            episode.hist_data.setdefault(key, []).append(value)


class Metrics:
    def __init__(self, smoothing):
        self.smoothing, self.history = smoothing, []

    def summary(self, ended):
        missing = self.smoothing - len(ended)
        counted = self.history[-missing:] + ended if missing > 0 else ended
        self.history.extend(ended)
        self.history = self.history[-self.smoothing:] if self.smoothing else []
        means = {key: float(np.mean([value.mean() for episode in counted for value in episode.hist_data[key]]))
                 for key in counted[0].hist_data}
        return {"reward": float(np.mean([episode.reward for episode in counted])), **means}


class Worker:
    def __init__(self, device):
        self.device, self.callbacks = device, MonitorInfo()
        self.policy = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 3)).to(device)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), CONFIG["lr"])
        self.houses = [Greenhouse() for _ in range(HOUSES)]
        self.seen, self.episodes = [house.reset() for house in self.houses], [Episode() for _ in self.houses]

    def step(self):
        """A step in all greenhouses, and one of learning; the episodes that ended by it."""
        chances = torch.distributions.Normal(self.policy(torch.from_numpy(np.stack(self.seen)).to(self.device)), 0.3)
        actions, rewards, ended = chances.sample(), [], []
        for number, action in enumerate(actions.clamp(-1, 1).cpu().numpy()):
            self.seen[number], reward, done, info = self.houses[number].step(action)
            self.callbacks.on_episode_step(self.episodes[number], info)
            self.episodes[number].reward += reward
            rewards.append(reward)
            if done:
                ended.append(self.episodes[number])
                self.seen[number], self.episodes[number] = self.houses[number].reset(), Episode()
        worth = torch.tensor(rewards, device=self.device)
        loss = -((worth - worth.mean())[:, None] * chances.log_prob(actions)).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return ended


def main():
    torch.set_num_threads(1)
    worker = Worker("cuda" if torch.cuda.is_available() else "cpu")
    metrics, said = Metrics(CONFIG["smoothing_episodes"]), time.time()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        ended = worker.step()
        summary = metrics.summary(ended) if ended else None
        if summary and time.time() - said > 2:
            said = time.time()
            print({key: round(value, 3) for key, value in summary.items()}, flush=True)
        time.sleep(random.uniform(0.005, 0.06))


if __name__ == "__main__":
    main()
