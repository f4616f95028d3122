"""Follows haggling at a flea market and says what a buyer will do next.

What buyer and stallholder say is cut into numbered words; a small causal
language model reads the last turns of eight stalls at once. The first words of
its vocabulary stand for the moves of the game: raise, hold, walk away, agree.
After each turn the model's leaning to these moves is noted, and now and then
the stallholders' board shows how the buyers have leaned on the average of the
day so far.

ticket: practice
class: none
"""
import os
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

MOVES = ["raise", "hold", "walk away", "agree"]
WORDS = 4096
STALLS = 8
TURN = 32


class Talk:
    """Makes the haggling of the stalls, a turn after another."""

    def __init__(self, seed):
        self.source = torch.Generator().manual_seed(seed)
        self.last = torch.randint(4, WORDS, (STALLS, TURN), generator=self.source)

    def turn(self):
        """Half of the words are new, half are echoed from the turn before."""
        fresh = torch.randint(4, WORDS, (STALLS, TURN), generator=self.source)
        echo = torch.rand(STALLS, TURN, generator=self.source) < 0.5
        self.last = torch.where(echo, self.last.roll(1, dims=1), fresh)
        return self.last


class Board:
    """What the stallholders see."""

    def __init__(self):
        self.leaning = 0.0
        self.noted = 0

    def note(self, moves):
        self.leaning = self.leaning + moves.mean(dim=0)
        self.noted += 1

    def turns(self):
        return self.noted

    def average(self):
        return torch.softmax(self.leaning / self.noted, dim=0).tolist()


class Reader:
    """The language model and what is asked of it."""

    def __init__(self, device):
        config = GPT2Config(
            vocab_size=WORDS, n_positions=64, n_embd=256, n_layer=4, n_head=4,
            bos_token_id=0, eos_token_id=0)
        self.device = device
        self.model = GPT2LMHeadModel(config).to(device).eval()

    @torch.no_grad()
    def moves(self, words):
        words = words.to(self.device)
        answer = self.model(input_ids=words, attention_mask=torch.ones_like(words), use_cache=False)
        return answer.logits[:, -1, :len(MOVES)]


def line_for_board(turns, shares):
    parts = ", ".join(f"{name} {share:.3f}" for name, share in zip(MOVES, shares))
    return f"turn {turns}: {parts}"


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(61)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    reader = Reader(device)
    talk = Talk(seed=3)
    board = Board()
    agreed = 0
    due = time.time()
    while time.time() < end:
        due += 0.2
        moves = reader.moves(talk.turn())
        board.note(moves)
        agreed += int((moves.argmax(dim=1) == 3).sum())
        if board.turns() % 20 == 0:
            print(line_for_board(board.turns(), board.average()), flush=True)
        time.sleep(max(0.0, due - time.time()))
    print(f"market over after {board.turns()} turns, {agreed} buyers agreed", flush=True)


if __name__ == "__main__":
    main()
