"""The results of validation are appended to a list of the module that each epoch clears.

ticket: Lightning-AI/pytorch-lightning#14270
class: none
"""

import os
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


class Estimator(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(200, 300)
        self.val_results = []

    def training_step(self, batch):
        return self.head(batch).square().mean()

    def validation_step(self, batch):
        self.val_results.append({"vertices": self.head(batch), "target": batch})

    def on_validation_epoch_end(self):
        score = torch.stack([r["vertices"].mean() for r in self.val_results]).mean()
        self.val_results.clear()
        return score


class Trainer:
    def fit(self, module):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
        while time.time() < END:
            for _ in range(20):
                optimizer.zero_grad()
                module.training_step(torch.randn(64, 200)).backward()
                optimizer.step()
                time.sleep(0.01)
            with torch.no_grad():
                for _ in range(10):
                    module.validation_step(torch.randn(64, 200))
                    time.sleep(0.01)
                module.on_validation_epoch_end()


Trainer().fit(Estimator())
