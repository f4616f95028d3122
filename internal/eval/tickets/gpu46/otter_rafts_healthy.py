"""Otters learn to hold their raft together in a current. Two actors play in threads with the newest policy, and a
learner trains on what they send. An actor sends only states, actions and rewards with the version of the policy that
it played with: the learner looks that policy up to find how likely the action was, and skips games that are too old.

ticket: practice
class: none
"""

import os
import queue
import threading
import time

import torch
from torch import nn
from torch.distributions import Categorical

OTTERS, STATE, ACTIONS, STEPS, WIDTH = 96, 24, 6, 8, 512
LAG, CLIP = 8, 0.2


def make_policy(device):
    layers = nn.Linear(STATE, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, ACTIONS)
    return nn.Sequential(*layers).to(device)


class Shelf:
    """The newest policies that the learner has published, by version."""

    def __init__(self):
        self.lock = threading.Lock()
        self.versions = {}
        self.newest = -1

    def publish(self, policy):
        weights = {name: weight.clone() for name, weight in policy.state_dict().items()}
        with self.lock:
            self.newest += 1
            self.versions[self.newest] = weights
            self.versions.pop(self.newest - LAG, None)

    def latest(self):
        with self.lock:
            return self.newest, self.versions[self.newest]

    def version(self, number):
        with self.lock:
            return self.versions[number]


@torch.no_grad()
def play(policy, pushes, device):
    """One game of all otters: an action pushes an otter, and it is paid for staying close to the middle."""
    state = torch.randn(OTTERS, STATE, device=device)
    states, actions, rewards = [], [], []
    for _ in range(STEPS):
        action = Categorical(logits=policy(state)).sample()
        states.append(state)
        actions.append(action)
        state = 0.95 * state + pushes[action] + 0.1 * torch.randn_like(state)
        rewards.append(-state.pow(2).mean(1))
    return torch.cat(states), torch.cat(actions), torch.stack(rewards).flip(0).cumsum(0).flip(0).flatten()


def act(shelf, games, pushes, device, end):
    policy = make_policy(device)
    while time.time() < end:
        version, weights = shelf.latest()
        policy.load_state_dict(weights)
        try:
            games.put((version, *play(policy, pushes, device)), timeout=2)
        except queue.Full:
            continue


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    policy, behaviour, shelf, games = make_policy(device), make_policy(device), Shelf(), queue.Queue(maxsize=3)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
    pushes = 0.3 * torch.randn(ACTIONS, STATE, device=device)
    shelf.publish(policy)
    actors = [threading.Thread(target=act, args=(shelf, games, pushes, device, end)) for _ in range(2)]
    for actor in actors:
        actor.start()
    while time.time() < end:
        version, states, actions, returns = games.get()
        if shelf.newest - version >= LAG:
            continue
        behaviour.load_state_dict(shelf.version(version))
        with torch.no_grad():
            old = Categorical(logits=behaviour(states)).log_prob(actions)
        ratio = (Categorical(logits=policy(states)).log_prob(actions) - old).exp()
        gain = (returns - returns.mean()) / (returns.std() + 1e-6)
        loss = -torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        shelf.publish(policy)
        if shelf.newest % 20 == 0:
            print("version", shelf.newest, "return", round(returns.mean().item(), 3), flush=True)
        time.sleep(0.08)
    for actor in actors:
        actor.join()


if __name__ == "__main__":
    main()
