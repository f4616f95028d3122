"""Two policies play curling against each other, many ends at once, on a simulated sheet of ice. Every end is recorded
stone by stone, so that the coach can look at it later: the records are pickled one after the other to the file that
RECORD names. The policies learn from who lies nearest to the button.

ticket: practice
class: none
"""

import os
import pickle
import random
import time

import torch
from torch import nn
from torch.distributions import Normal

ENDS, STONES, FRAMES = 48, 8, 40


class Recorder:
    """The records of all ends in one file, to be read with pickle.load until its end."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.pickler = pickle.Pickler(self.file, protocol=pickle.HIGHEST_PROTOCOL)
        self.records = 0

    def write(self, record):
        self.pickler.dump(record)
        self.pickler.clear_memo()
        self.records += 1

    def close(self):
        self.file.close()


def slide(places, speeds):
    """The stones slide, slow down and push each other. Gives the places in every frame."""
    frames = []
    for _ in range(FRAMES):
        apart = places[:, :, None] - places[:, None]
        nearness = torch.relu(0.3 - apart.norm(dim=-1, keepdim=True))
        speeds = 0.95 * speeds + (apart * nearness).sum(dim=2)
        places = places + 0.1 * speeds
        frames.append(torch.cat([places, speeds], dim=-1))
    return places, torch.stack(frames)


class Player:
    def __init__(self, device):
        self.aim = nn.Sequential(nn.Linear(STONES * 2 + 1, 128), nn.Tanh(), nn.Linear(128, 2)).to(device)
        self.optimizer = torch.optim.Adam(self.aim.parameters(), lr=1e-3)

    def throw(self, places, turn):
        turns = torch.full_like(places[:, 0, :1], turn / STONES)
        choice = Normal(self.aim(torch.cat([places.flatten(1), turns], dim=1)), 0.2)
        speeds = choice.sample()
        return speeds, choice.log_prob(speeds).sum(dim=1)

    def learn(self, log_probs, rewards):
        loss = -(torch.stack(log_probs).sum(dim=0) * (rewards - rewards.mean())).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def play(players, recorder, device):
    places = torch.full((ENDS, STONES, 2), 9.0, device=device)
    places[..., 0] += torch.arange(STONES, device=device)
    log_probs, film = ([], []), []
    for turn in range(STONES):
        speeds = torch.zeros_like(places)
        speeds[:, turn], log_prob = players[turn % 2].throw(places, turn)
        log_probs[turn % 2].append(log_prob)
        places = places.clone()
        places[:, turn] = torch.tensor([0.0, -3.0], device=device)
        speeds[:, turn, 1] += 1.5
        places, frames = slide(places, speeds)
        film.append(frames)
    distances = places.norm(dim=-1)
    rewards = distances[:, 1::2].min(dim=1).values - distances[:, ::2].min(dim=1).values
    for player, sign, thrown in zip(players, (1, -1), log_probs):
        player.learn(thrown, sign * rewards)
    stones = torch.stack(film).cpu().numpy()
    recorder.write({"played": time.time(), "stones": stones, "rewards": rewards.tolist()})
    return rewards.mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    players = Player(device), Player(device)
    recorder = Recorder(os.environ.get("RECORD", os.devnull))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        reward = play(players, recorder, device)
        if recorder.records % 10 == 0:
            print(f"{recorder.records} records, first player ahead by {reward:.2f}", flush=True)
        time.sleep(random.uniform(0.1, 0.25))
    recorder.close()


if __name__ == "__main__":
    main()
