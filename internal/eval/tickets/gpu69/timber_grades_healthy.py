"""It trains a small transformer that grades sawn boards by the profile of their grain. The card is shared with the
scanner of the mill, so now and then there is no memory left: for that case the history of the last allocations is
recorded and goes into a snapshot before the program gives up.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

GRADES, POINTS, FEATURES, WIDTH, BATCH = 5, 48, 6, 96, 32
SNAPSHOT = "/tmp/timber_grades.pickle"


class Grader(nn.Module):
    def __init__(self):
        super().__init__()
        self.profile = nn.Linear(FEATURES, WIDTH)
        self.places = nn.Parameter(0.02 * torch.randn(POINTS, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 192, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.grade = nn.Linear(WIDTH, GRADES)

    def forward(self, boards):
        return self.grade(self.layers(self.profile(boards) + self.places).mean(dim=1))


def scan(device):
    """The profiles of a batch of boards, with a knot for each grade, and the grades."""
    grades = torch.randint(GRADES, (BATCH,), device=device)
    boards = torch.randn(BATCH, POINTS, FEATURES, device=device)
    along = torch.arange(POINTS, device=device)
    knots = along[None, :] % (GRADES + 1) < grades[:, None]
    boards[..., 0] += knots
    return boards, grades


def train_step(model, optimizer, boards, grades):
    loss = F.cross_entropy(model(boards), grades)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss


@torch.no_grad()
def accuracy(model, device):
    model.eval()
    boards, grades = scan(device)
    right = (model(boards).argmax(dim=1) == grades).float().mean().item()
    model.train()
    return right


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        torch.cuda.memory._record_memory_history(stacks="python", max_entries=10_000)
    model = Grader().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    step = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    try:
        while time.time() < end:
            loss = train_step(model, optimizer, *scan(device))
            step += 1
            if step % 100 == 0:
                print(f"step {step}: loss {loss.item():.3f}, right {accuracy(model, device):.2f}", flush=True)
            time.sleep(0.03)
    except torch.cuda.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot(SNAPSHOT)
        raise


if __name__ == "__main__":
    main()
