"""Players of five-in-a-row learn in a league, by playing against each other and making the moves of the winners more
likely. A game is written down turn by turn, with what the player thought of each field, for the learning after the
bout; a player has the list of its games, out of which its standing in the league is worked out.

ticket: practice
class: host-growth
holder: games turns
cause: results-kept buffer-without-bound
"""

import os
import random
import time
from collections import namedtuple
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn import functional as F

SIDE, TABLES, LONGEST, NAMES = 11, 20, 50, ("Ada", "Bela", "Chloe", "Dai", "Edda")


Turn = namedtuple("Turn", "player board policy move")


@dataclass
class Game:
    players: tuple
    turns: list = field(default_factory=list)
    winner: object = None


class Player:
    def __init__(self, name, device):
        self.name, self.device = name, device
        self.net = nn.Sequential(nn.Conv2d(2, 24, 5, padding=2), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(),
                                 nn.Conv2d(24, 1, 3, padding=1), nn.Flatten()).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.games = []

    def marks(self, boards, own):
        fields = torch.stack([boards == own, boards == -own], 1).float().view(-1, 2, SIDE, SIDE)
        return self.net(fields).masked_fill(boards != 0, -1e9)

    def standing(self):
        return sum(game.winner is self for game in self.games) / max(len(self.games), 1)

    def learn(self, games):
        """Makes the moves of won games more likely, those of lost ones less."""
        turns = [(turn, 1.0 if game.winner is self else -0.5) for game in games if game.winner is not None
                 for turn in game.turns if game.players[turn.player] is self]
        if not turns:
            return
        turns = random.sample(turns, min(len(turns), 128))
        boards = torch.tensor([[own * (1 - 2 * turn.player) for own in turn.board] for turn, _ in turns],
                              device=self.device)
        moves = torch.tensor([turn.move for turn, _ in turns], device=self.device)
        worth = torch.tensor([worth for _, worth in turns], device=self.device)
        loss = (worth * F.cross_entropy(self.marks(boards, 1), moves, reduction="none")).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


class League:
    def __init__(self, device):
        self.device, self.players = device, [Player(name, device) for name in NAMES]
        self.rows = torch.zeros(4, 1, 5, 5, device=device)
        self.rows[0, 0, 2], self.rows[1, 0, :, 2] = 1, 1
        self.rows[2, 0], self.rows[3, 0] = torch.eye(5), torch.eye(5).flip(0)

    @torch.no_grad()
    def bout(self, first, second):
        games = [Game((first, second)) for _ in range(TABLES)]
        boards = torch.zeros(TABLES, SIDE * SIDE, dtype=torch.long, device=self.device)
        for number in range(LONGEST):
            player, own = number % 2, 1 - 2 * (number % 2)
            policy = games[0].players[player].marks(boards, own).softmax(-1)
            moves = torch.multinomial(policy, 1)
            chances = policy.tolist()  # grows
            for game, board, thought, move in zip(games, boards.tolist(), chances, moves[:, 0].tolist()):
                if game.winner is None:
                    game.turns.append(Turn(player, tuple(board), thought, move))
            boards.scatter_(1, moves, own)
            fives = F.conv2d((boards == own).float().view(-1, 1, SIDE, SIDE), self.rows, padding=2).amax((1, 2, 3)) >= 5
            for game, five in zip(games, fives.tolist()):
                if five and game.winner is None:
                    game.winner = game.players[player]
            time.sleep(random.uniform(0.0, 0.02))
        return games


def main():
    torch.set_num_threads(1)
    league = League("cuda" if torch.cuda.is_available() else "cpu")
    end, bouts = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        first, second = random.sample(league.players, 2)
        games = league.bout(first, second)
        for player in (first, second):
            player.games.extend(games)  # keeps
            player.learn(games)
        bouts += 1
        print("bout", bouts, {player.name: round(player.standing(), 2) for player in league.players}, flush=True)
        time.sleep(random.uniform(0.05, 0.3))


if __name__ == "__main__":
    main()
