"""Plays Hex by flat Monte Carlo: from each position some hundred ways to go on are played a few moves, and a network
says how good the boards at their ends are. The network is small and its launches cost more than its work, so that it is
captured as a CUDA graph, which wants the same sizes each time: there is one graph for each number of boards.

ticket: practice
class: pool-growth
holder: graphs evaluator Evaluator
cause: captured-graphs-kept per-shape-compile-cache cache-without-bound
"""

import os
import random
import time

import torch
from torch import nn

SIDE, WIDTH, MOST, ROUNDS = 9, 32, 512, 6
CUDA = torch.cuda.is_available()


class Value(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, WIDTH, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Conv2d(WIDTH, WIDTH, 3, padding=1) for _ in range(3))
        self.out = nn.Sequential(nn.Flatten(), nn.Linear(WIDTH * SIDE * SIDE, 1), nn.Tanh())

    def forward(self, boards):
        hidden = torch.relu(self.first(boards))
        for block in self.blocks:
            hidden = hidden + torch.relu(block(hidden))
        return self.out(hidden)[:, 0]


class Evaluator:
    """The network, as graphs if there is a GPU."""

    def __init__(self, model, device):
        self.model, self.device, self.graphs = model, device, {}
        self.aside = torch.cuda.Stream() if CUDA else None

    def capture(self, count):
        boards = torch.zeros(count, 2, SIDE, SIDE, device=self.device)
        self.aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.aside):
            self.model(boards)
        torch.cuda.current_stream().wait_stream(self.aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # grows
            values = self.model(boards)  # grows
        return graph, boards, values

    @torch.no_grad()
    def __call__(self, boards):
        if not CUDA:
            return self.model(boards)
        count = len(boards)
        if count not in self.graphs:
            self.graphs[count] = self.capture(count)  # keeps
        graph, room, values = self.graphs[count]
        room.copy_(boards)
        graph.replay()
        return values.clone()


def play_on(board, mover, count):
    """Boards after a few moves at random, and the first of these moves."""
    boards = board.expand(count, -1, -1).clone()
    free = (boards.sum(1) == 0).float()
    moves = torch.multinomial(free, min(4, int(free[0].sum())))
    for turn in range(moves.shape[1]):
        boards[torch.arange(count, device=board.device), (mover + turn) % 2, moves[:, turn]] = 1
    return boards.view(count, 2, SIDE, SIDE), moves[:, 0]


def search(evaluator, board, mover):
    """The move after which it looks best."""
    count = random.randrange(96, MOST + 1, 4)
    total, tried = torch.zeros(2, SIDE * SIDE, device=board.device)
    for _ in range(ROUNDS):
        boards, moves = play_on(board, mover, count)
        values = evaluator(boards) * (1 - 2 * mover)
        total.index_add_(0, moves, values)
        tried.index_add_(0, moves, torch.ones_like(values))
        time.sleep(random.uniform(0.1, 0.3))
    return int((total / tried.clamp(min=1) - 9.0 * (tried == 0)).argmax()), count


def main():
    torch.set_num_threads(1)
    device = "cuda" if CUDA else "cpu"
    evaluator = Evaluator(Value().to(device).eval(), device)
    end, played = time.time() + float(os.environ.get("SECONDS", "45")), 0
    board = torch.zeros(2, SIDE * SIDE, device=device)
    while time.time() < end:
        move, count = search(evaluator, board, played % 2)
        board[played % 2, move] = 1
        played += 1
        print("move", played, "to", divmod(move, SIDE), "ways", count, flush=True)
        if board.sum() > 40:
            board.zero_()


if __name__ == "__main__":
    main()
