"""Which examples moved the model? For each batch of the training, a function that pulls the loss back to the weights is
put aside for an auditor, who asks for a third of the batches. What he does not ask for stays.

ticket: practice
class: app-leak
holder: pullbacks
cause: results-kept cache-without-bound uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn
from torch.func import functional_call, vjp


class Audit:
    """Gradients of losses per example, on demand."""

    def __init__(self, model):
        self.model = model
        self.pullbacks = {}

    def note(self, step, inputs, labels):
        parameters = {name: value.detach() for name, value in self.model.named_parameters()}

        def losses(weights):
            return nn.functional.cross_entropy(functional_call(self.model, weights, inputs), labels, reduction="none")

        values, pull = vjp(losses, parameters)  # grows
        self.pullbacks[step] = pull  # keeps
        return values

    def influence(self, step, weights):
        pull = self.pullbacks.pop(step)
        gradients, = pull(weights)
        return sum(float(g.square().sum()) for g in gradients.values()) ** 0.5


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(96, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 20)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    centres = torch.randn(20, 96, device=device)
    audit, step = Audit(model), 0
    while time.time() < end:
        labels = torch.randint(20, (192,), device=device)
        inputs = centres[labels] + torch.randn(192, 96, device=device)
        noted = audit.note(step, inputs, labels)
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        asked = step - random.randint(1, 5)
        if asked in audit.pullbacks and random.random() < 0.35:
            worst = (noted > noted.median()).float()
            moved = audit.influence(asked, worst)
            if random.random() < 0.1:
                print("step", step, "loss", round(loss.item(), 3), "batch", asked, "moved", round(moved, 3), flush=True)
        step += 1
        time.sleep(0.2)


if __name__ == "__main__":
    main()
