"""A runner plays episodes with a recurrent agent and stores what it did. The actions' values are detached before
they go into the store, which keeps the last forty episodes.

ticket: oxwhirl/pymarl#73
class: none
"""

import collections
import os
import random
import time

import torch
from torch import nn


class Agent(nn.Module):
    def __init__(self, seen, hidden, actions):
        super().__init__()
        self.inward, self.cell = nn.Linear(seen, hidden), nn.GRUCell(hidden, hidden)
        self.out, self.hidden = nn.Linear(hidden, actions), hidden

    def begin(self, count):
        return torch.zeros(count, self.hidden)

    def forward(self, seen, state):
        state = self.cell(torch.relu(self.inward(seen)), state)
        return self.out(state), state


class Store:
    def __init__(self):
        self.episodes = collections.deque(maxlen=40)

    def add(self, steps):
        self.episodes.append(steps)

    def sample(self, count):
        return random.sample(list(self.episodes), min(count, len(self.episodes)))


class Runner:
    def __init__(self, agent, units):
        self.agent, self.units = agent, units

    def run(self):
        state, steps = self.agent.begin(self.units), []
        for _ in range(random.randint(12, 30)):
            values, state = self.agent(torch.randn(self.units, 48), state)
            chosen = values.argmax(dim=1)
            steps.append({"actions": chosen, "values": values.detach(), "reward": random.random()})
        return steps


def main():
    torch.set_num_threads(1)
    agent, store = Agent(48, 64, 9), Store()
    end, runner, episodes = time.time() + float(os.environ.get("SECONDS", "45")), Runner(agent, 8), 0
    while time.time() < end:
        store.add(runner.run())
        episodes += 1
        if episodes % 10 == 0:
            rewards = [step["reward"] for episode in store.sample(8) for step in episode]
            print("episodes %d reward %.3f" % (episodes, sum(rewards) / len(rewards)), flush=True)
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
