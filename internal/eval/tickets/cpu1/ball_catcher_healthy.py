"""An agent learns by deep Q-learning to catch balls that fall in a small picture, with a memory of what it has seen
last: the newest 160 steps.

ticket: practice
class: none
"""

import os
import random
import time
from collections import deque

import torch
from torch import nn

SIDE, FRAMES = 64, 4


class Catcher:
    """A ball falls aslant; a paddle at the bottom moves left or right, or stays."""

    def reset(self):
        self.x, self.y, self.drift = random.uniform(4, SIDE - 4), 0.0, random.uniform(-0.8, 0.8)
        self.paddle = SIDE // 2
        self.frames = [self.draw()] * FRAMES
        return torch.stack(self.frames)

    def draw(self):
        picture = torch.zeros(SIDE, SIDE)
        x, y = int(min(max(self.x, 1), SIDE - 2)), int(min(max(self.y, 1), SIDE - 2))
        picture[y - 1:y + 2, x - 1:x + 2] = 1.0
        picture[-2:, max(self.paddle - 5, 0):self.paddle + 5] = 0.6
        return picture

    def step(self, action):
        self.paddle = min(max(self.paddle + 4 * (action - 1), 0), SIDE)
        self.x, self.y = self.x + self.drift, self.y + 3.0
        self.frames = self.frames[1:] + [self.draw()]
        done = self.y >= SIDE - 2
        reward = (1.0 if abs(self.x - self.paddle) < 6 else -1.0) if done else 0.0
        return torch.stack(self.frames), reward, done


class ReplayMemory:
    def __init__(self, capacity=160):
        self.steps = deque(maxlen=capacity)

    def push(self, *step):
        self.steps.append(step)

    def sample(self, amount):
        before, action, reward, after, done = zip(*random.sample(self.steps, amount))
        return (torch.stack(before), torch.tensor(action), torch.tensor(reward), torch.stack(after),
                torch.tensor(done, dtype=torch.float32))


def network():
    return nn.Sequential(nn.Conv2d(FRAMES, 8, 8, stride=4), nn.ReLU(), nn.Conv2d(8, 16, 4, stride=2), nn.ReLU(),
                         nn.Flatten(), nn.Linear(16 * 6 * 6, 64), nn.ReLU(), nn.Linear(64, 3))


def learn(net, target, optimizer, memory):
    before, action, reward, after, done = memory.sample(16)
    with torch.no_grad():
        goal = reward + 0.97 * (1 - done) * target(after).max(1).values
    value = net(before).gather(1, action[:, None])[:, 0]
    loss = nn.functional.smooth_l1_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    net, target, game, memory = network(), network(), Catcher(), ReplayMemory()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-4)
    state, steps, games, recent = game.reset(), 0, 0, 0.0
    while time.time() < end:
        greed = max(0.05, 1 - steps / 1500)
        with torch.no_grad():
            action = random.randrange(3) if random.random() < greed else int(net(state[None]).argmax())
        after, reward, done = game.step(action)
        memory.push(state, action, reward, after, done)
        state, steps = after, steps + 1
        if steps % 4 == 0 and steps > 64:
            learn(net, target, optimizer, memory)
        if steps % 200 == 0:
            target.load_state_dict(net.state_dict())
        if done:
            games, recent = games + 1, 0.95 * recent + 0.05 * reward
            state = game.reset()
            if games % 10 == 0:
                print("games", games, "steps", steps, "reward", round(recent, 2), flush=True)
            time.sleep(random.uniform(0.02, 0.12))
        time.sleep(0.004)


if __name__ == "__main__":
    main()
