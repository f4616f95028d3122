"""Tutor of a chess club that answers the moves of several pupils with a small language model.

A pupil sits down at a board, plays a game of some length against the tutor and goes home again. The
model reads each move as a token; what it has read of a game stays with the board as key and value cache,
so that every turn costs a few tokens only. Some pupils resign early, others play until mate.

ticket: practice
class: none
"""
import os
import random
import time
from dataclasses import dataclass, field

import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
VOCABULARY = 2048
OPENING_TOKENS = 48
TOKENS_PER_TURN = 4
PLACES = 6
ROUNDS_PER_SECOND = 5.0


@dataclass
class Board:
    """A game in progress: the pupil, the turns left and what the model has read of the game."""

    pupil: str
    turns_left: int
    resigns_at: int
    cache: DynamicCache = field(default_factory=DynamicCache)
    moves: list[int] = field(default_factory=list)


def build_model() -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=8,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=512,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=2,
    )
    torch.manual_seed(8)
    return LlamaForCausalLM(config).to(DEVICE).eval()


class ClubTutor:
    def __init__(self, model: LlamaForCausalLM, seed: int):
        self.model = model
        self.dice = random.Random(seed)
        self.boards: dict[str, Board] = {}
        self.seated: list[str] = []
        self.arrived = self.mated = self.resigned = 0

    def _read(self, board: Board, tokens: list[int]) -> int:
        ids = torch.tensor([tokens], device=DEVICE)
        answer = self.model(input_ids=ids, past_key_values=board.cache, use_cache=True)
        return int(answer.logits[0, -1].argmax())

    def _tokens(self, count: int) -> list[int]:
        return [self.dice.randrange(3, VOCABULARY) for _ in range(count)]

    def seat(self) -> None:
        self.arrived += 1
        pupil = f"pupil {self.arrived}"
        turns = self.dice.randrange(5, 11)
        resigns_at = self.dice.choice((0, 0, 2, 3))
        board = Board(pupil, turns, resigns_at)
        self.boards[pupil] = board
        self.seated.append(pupil)
        board.moves.append(self._read(board, self._tokens(OPENING_TOKENS)))

    def take_turn(self, pupil: str) -> None:
        board = self.boards[pupil]
        reply = self._read(board, [board.moves[-1], *self._tokens(TOKENS_PER_TURN)])
        board.moves.append(reply)
        board.turns_left -= 1
        if board.turns_left == board.resigns_at:
            self.see_off(board)

    def see_off(self, board: Board) -> None:
        self.seated.remove(board.pupil)
        del self.boards[board.pupil]
        if board.turns_left > 0:
            self.resigned += 1
        else:
            self.mated += 1

    def round(self) -> int:
        while len(self.seated) < PLACES:
            self.seat()
        for pupil in list(self.seated):
            self.take_turn(pupil)
        return len(self.seated)


@torch.inference_mode()
def main() -> None:
    tutor = ClubTutor(build_model(), seed=1972)
    began = time.monotonic()
    next_report = began + 2.0
    playing = 0
    while time.monotonic() - began < SECONDS:
        started = time.monotonic()
        playing = tutor.round()
        if started >= next_report:
            print(f"{playing} boards in play, {tutor.mated} mated, {tutor.resigned} resigned", flush=True)
            next_report = started + 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"club room locked: {tutor.arrived} pupils, {tutor.mated} games to mate", flush=True)


if __name__ == "__main__":
    main()
