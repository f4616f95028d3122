"""Self-play of five in a row on a small board. The trunk of the network is the dear part, and both its heads (policy
and value) read the trunk's features, so the features of each position are kept in a table and looked up when the search
meets the position again. The network is trained after every few rounds. Features of an older network must not be mixed
with new ones, so each generation begins with an empty table.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, GAMES, LOOKED_AT, ROUNDS = 9, 12, 6, 8
CELLS = SIDE * SIDE


class Network(nn.Module):
    def __init__(self, channels=48):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1), nn.ReLU(), nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU()
        )
        self.policy = nn.Conv2d(channels, 1, 1)
        self.value = nn.Linear(channels, 1)

    def heads(self, features):
        return self.policy(features).flatten(1), torch.tanh(self.value(features.mean(dim=(2, 3))))[:, 0]


class Evaluator:
    def __init__(self, network, device):
        self.network, self.device, self.generation = network, device, 0
        self.table = {}
        self.met = self.asked = 0

    @torch.no_grad()
    def evaluate(self, boards):
        """Policy logits and values of the boards, of which only the unknown ones go through the trunk."""
        keys = [board.numpy().tobytes() for board in boards]
        unknown = {key: board for key, board in zip(keys, boards) if key not in self.table}
        self.asked += len(keys)
        self.met += len(keys) - len(unknown)
        if unknown:
            batch = torch.stack(list(unknown.values()))[:, None].float().to(self.device)
            features = self.network.trunk(batch)
            self.table.update(zip(unknown, features))
        return self.network.heads(torch.stack([self.table[key] for key in keys]))

    def next_generation(self):
        self.generation += 1
        self.table.clear()


def search(evaluator, board):
    """The likeliest moves are tried, and the one after which the other player stands worst is made."""
    logits, _ = evaluator.evaluate([board])
    logits = logits[0].cpu().masked_fill(board.flatten() != 0, -1e9)
    moves = torch.multinomial(F.softmax(logits, dim=0) + 1e-6 * (board.flatten() == 0), LOOKED_AT).tolist()
    boards = [-board for _ in moves]
    for after, move in zip(boards, moves):
        after.view(-1)[move] = -1
    _, values = evaluator.evaluate(boards)
    best = values.argmin().item()
    return boards[best], moves[best], values[best].item()


def train(network, optimizer, lessons, device):
    boards = torch.stack([board for board, _, _ in lessons])[:, None].float().to(device)
    moves = torch.tensor([move for _, move, _ in lessons], device=device)
    values = torch.tensor([-value for _, _, value in lessons], device=device)
    logits, guesses = network.heads(network.trunk(boards))
    loss = F.cross_entropy(logits, moves) + F.mse_loss(guesses, values)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = Network().to(device)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.02)
    evaluator = Evaluator(network, device)
    boards = [torch.zeros(SIDE, SIDE, dtype=torch.int8) for _ in range(GAMES)]
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        lessons = []
        for _ in range(ROUNDS):
            for game, board in enumerate(boards):
                if (board == 0).sum() < CELLS // 3:
                    board = torch.zeros_like(board)
                after, move, value = search(evaluator, board)
                lessons.append((board, move, value))
                boards[game] = after
            time.sleep(random.uniform(0.02, 0.06))
        loss = train(network, optimizer, lessons, device)
        evaluator.next_generation()
        print(f"{evaluator.generation}: loss {loss:.3f}, {evaluator.met / evaluator.asked:.0%} met again", flush=True)


if __name__ == "__main__":
    main()
