"""Training of the grasp scorer for an orchard picking robot.

The robot drives along the rows; in each row the light and the variety of the apples change a little. The scorer
sees a feature vector of a fruit and a candidate grasp, and learns whether the stalk will come off cleanly. When
the loss jumps after a change of row, the trainer goes back to the weights of the best of the last marks.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(90)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STEPS_PER_SECOND = 8
MARK_EVERY = 4
ROW_STEPS = 12
MARKS_KEPT = 3
FRUIT, GRASP = 448, 64
BATCH = 48


class GraspScorer(nn.Module):
    def __init__(self, width=720):
        super().__init__()
        self.lift = nn.Linear(FRUIT + GRASP, width)
        self.mix = nn.Linear(width, 576)
        self.out = nn.Linear(576, 1)

    def forward(self, fruit, grasp):
        x = torch.relu(self.lift(torch.cat([fruit, grasp], dim=1)))
        return self.out(torch.relu(self.mix(x))).squeeze(1)


class OrchardRow:
    """Fruit and grasps of one row, with the truth of a hidden plane that drifts from row to row."""

    def __init__(self, number):
        self.number = number
        self.rng = torch.Generator().manual_seed(1000 + number)
        self.plane = torch.randn(FRUIT + GRASP, generator=torch.Generator().manual_seed(5))
        self.plane += 0.2 * torch.randn(FRUIT + GRASP, generator=self.rng)

    def batch(self):
        x = torch.randn(BATCH, FRUIT + GRASP, generator=self.rng)
        label = (x @ self.plane > 0).float()
        x = x.to(DEVICE)
        return x[:, :FRUIT], x[:, FRUIT:], label.to(DEVICE)


class MarkBook:
    """The last marks of the weights with the loss that they had."""

    def __init__(self, kept):
        self.kept = kept
        self._marks = {}

    def put(self, row, step, model, loss):
        weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
        self._marks[row, step] = (loss, weights)
        for key in sorted(self._marks)[:-self.kept]:
            del self._marks[key]

    def best(self):
        recent = sorted(self._marks)[-self.kept:]
        return min((self._marks[key] for key in recent), key=lambda mark: mark[0])


class Trainer:
    def __init__(self):
        self.model = GraspScorer().to(DEVICE)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.loss_of = nn.BCEWithLogitsLoss()
        self.book = MarkBook(MARKS_KEPT)
        self.average = 0.7
        self.returns = 0

    def step(self, row):
        fruit, grasp, label = row.batch()
        self.optimizer.zero_grad()
        loss = self.loss_of(self.model(fruit, grasp), label)
        loss.backward()
        self.optimizer.step()
        value = loss.item()
        self.average = 0.8 * self.average + 0.2 * value
        return value

    def settle(self, row, step):
        """Marks the weights, or goes back when the row has thrown the scorer off."""
        self.book.put(row.number, step, self.model, self.average)
        loss, weights = self.book.best()
        if self.average > 1.6 * loss:
            self.model.load_state_dict(weights)
            self.average = loss
            self.returns += 1


def main():
    trainer = Trainer()
    row = OrchardRow(0)
    started = time.monotonic()
    due = started
    step = 0
    while time.monotonic() - started < SECONDS:
        loss = trainer.step(row)
        step += 1
        if step % MARK_EVERY == 0:
            trainer.settle(row, step)
        if step % ROW_STEPS == 0:
            row = OrchardRow(row.number + 1)
        if step % 24 == 0:
            print(f"row {row.number} step {step}: loss {loss:.3f}, average {trainer.average:.3f}, "
                  f"returns {trainer.returns}", flush=True)
        due += 1.0 / STEPS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"trained {step} steps over {row.number + 1} rows", flush=True)


if __name__ == "__main__":
    main()
