"""Evening server of a chess club.

Members sit down at a board, play a quick game against the house engine and go; every board has a search memory of its
own on the device. A game lasts six to twelve seconds. It is won, or it is adjourned when the member has to leave, and
then its score sheet goes to the secretary under a label of its own until the next club night.

    ticket: practice
    class: app-leak
    holder: _boards
    cause: sessions-kept
"""
import asyncio
import os
import random
import time
from collections import Counter

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SEAT_EVERY = 0.4
MOVE_EVERY = 0.4
POSITIONS, WIDTH = 4096, 256


class HouseEngine(nn.Module):
    """Looks into a slice of the search memory and says how the game stands."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.score = nn.Linear(WIDTH, 1)

    def forward(self, rows):
        mixed = torch.tanh(self.mix(rows))
        return mixed, torch.tanh(self.score(mixed)).mean()


class Board:
    def __init__(self, label, member, lasts, adjourns, memory):
        self.label = label
        self.member = member
        self.lasts = lasts
        self.adjourns = adjourns
        self.memory = memory
        self.moves = 0
        self.standing = 0.0


class Secretary:
    """Files score sheets: a line of text for each game that is over."""

    def __init__(self):
        self.results = Counter()
        self.last_sheet = ""

    def file(self, label, member, result, moves):
        self.results[result] += 1
        self.last_sheet = f"{label} {member} {result} in {moves}"


class ClubServer:
    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.engine = HouseEngine().to(DEVICE).eval()
        self.secretary = Secretary()
        self.seated = 0
        self._boards = {}
        self._games = set()

    def seat(self):
        self.seated += 1
        memory = torch.randn(POSITIONS, WIDTH, generator=self.generator, device=DEVICE)  # grows
        board = Board(
            label=f"B{self.seated}",
            member=f"member {self.dice.randrange(80)}",
            lasts=self.dice.uniform(6.0, 12.0),
            adjourns=self.seated % 2 == 0,
            memory=memory,
        )
        self._boards[board.label] = board  # keeps
        game = asyncio.create_task(self.play(board))
        self._games.add(game)
        game.add_done_callback(self._games.discard)

    def move(self, board):
        start = (board.moves * 32) % (POSITIONS - 32)
        with torch.no_grad():
            mixed, standing = self.engine(board.memory[start:start + 32])
            board.memory[start:start + 32].copy_(mixed)
        board.standing = float(standing)
        board.moves += 1

    async def play(self, board):
        begun = time.monotonic()
        while time.monotonic() - begun < board.lasts:
            self.move(board)
            await asyncio.sleep(MOVE_EVERY)
        if board.adjourns:
            self.adjourn(board)
        else:
            result = "won" if board.standing > 0 else "lost"
            self.secretary.file(board.label, board.member, result, board.moves)
        self.rise(board)

    def adjourn(self, board):
        """The sheet goes into an envelope with the sealed move."""
        board.label = f"{board.label}/sealed-{board.moves + 1}"
        self.secretary.file(board.label, board.member, "adjourned", board.moves)

    def rise(self, board):
        self._boards.pop(board.label, None)

    async def close(self):
        for game in list(self._games):
            game.cancel()
        await asyncio.gather(*self._games, return_exceptions=True)


async def club_night(seconds):
    server = ClubServer(seed=9501)
    started = time.monotonic()
    turn = 0
    while time.monotonic() - started < seconds:
        server.seat()
        turn += 1
        if turn % 8 == 0:
            results = ", ".join(f"{name} {count}" for name, count in sorted(server.secretary.results.items()))
            print(f"seated {server.seated}; {results or 'first games under way'}", flush=True)
        await asyncio.sleep(max(0.0, started + turn * SEAT_EVERY - time.monotonic()))
    await server.close()
    return server


def main():
    torch.set_num_threads(1)
    torch.manual_seed(9500)
    server = asyncio.run(club_night(float(os.environ.get("SECONDS", "120"))))
    print(f"club closed: {server.seated} seated, last sheet {server.secretary.last_sheet or 'none'}", flush=True)


if __name__ == "__main__":
    main()
