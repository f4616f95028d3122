"""Move chooser for rook endings, trained at a chess club on the members' own games.

A small network reads a board of twelve piece planes and scores every pair of squares, from and to.
After each section of lessons the trainer prints how often the move of the stronger side was found,
and how sure the network was of it.

ticket: practice
class: app-leak
holder: marked_lessons
cause: results-kept
"""
import os
import time
from dataclasses import dataclass

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
PLANES = 12
SQUARES = 64
MOVES = SQUARES * SQUARES
LESSON_SIZE = 112
LESSONS_PER_SECTION = 12
LESSONS_PER_SECOND = 5.0


@dataclass
class MarkedLesson:
    """One lesson as it was answered: the scores of all moves and the moves that were played."""

    number: int
    scores: torch.Tensor
    played: torch.Tensor


class GameArchive:
    """Positions of the club's archive, with a hidden rule that gives the move of the book."""

    def __init__(self, seed: int):
        self._source = torch.Generator().manual_seed(seed)
        self._book = torch.randn(PLANES * SQUARES, 48, generator=self._source)
        self._replies = torch.randn(48, MOVES, generator=self._source)
        self._pool = [self._make_lesson() for _ in range(24)]

    def _make_lesson(self) -> tuple[torch.Tensor, torch.Tensor]:
        boards = (torch.rand(LESSON_SIZE, PLANES * SQUARES, generator=self._source) < 0.03).float()
        played = (torch.tanh(boards @ self._book) @ self._replies).argmax(dim=1)
        return boards.to(DEVICE), played.to(DEVICE)

    def lesson(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self._pool[number % len(self._pool)]


class MoveChooser(nn.Module):
    def __init__(self, width: int = 192):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(PLANES * SQUARES, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.moves = nn.Linear(width, MOVES)

    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        return self.moves(self.trunk(boards))


class SectionTrainer:
    """Runs lessons, and marks a section once its lessons are through."""

    def __init__(self, chooser: MoveChooser, archive: GameArchive):
        self.chooser = chooser
        self.archive = archive
        self.optimizer = torch.optim.Adam(chooser.parameters(), lr=1e-3)
        self.criterion = nn.CrossEntropyLoss()
        self.marked_lessons: list[MarkedLesson] = []
        self.sections = 0

    def teach(self, number: int) -> float:
        boards, played = self.archive.lesson(number)
        scores = self.chooser(boards)  # grows
        loss = self.criterion(scores, played)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.marked_lessons.append(MarkedLesson(number, scores.detach(), played))  # keeps
        return loss.item()

    def section_is_through(self, number: int) -> bool:
        return (number + 1) % LESSONS_PER_SECTION == 0

    @torch.no_grad()
    def mark_section(self) -> tuple[float, float]:
        found, sureness = 0.0, 0.0
        section = self.marked_lessons[-LESSONS_PER_SECTION:]
        for lesson in section:
            found += (lesson.scores.argmax(dim=1) == lesson.played).float().mean().item()
            sureness += lesson.scores.softmax(dim=1).amax(dim=1).mean().item()
        self.sections += 1
        return found / len(section), sureness / len(section)


def main() -> None:
    torch.manual_seed(64)
    trainer = SectionTrainer(MoveChooser().to(DEVICE), GameArchive(seed=1851))
    began = time.monotonic()
    number, loss = 0, 0.0
    while time.monotonic() - began < SECONDS:
        started = time.monotonic()
        loss = trainer.teach(number)
        if trainer.section_is_through(number):
            found, sureness = trainer.mark_section()
            print(f"section {trainer.sections}: loss {loss:.3f}, found {found:.1%}, sure {sureness:.1%}", flush=True)
        number += 1
        time.sleep(max(0.0, 1.0 / LESSONS_PER_SECOND - (time.monotonic() - started)))
    print(f"club evening over after {number} lessons, last loss {loss:.3f}", flush=True)


if __name__ == "__main__":
    main()
