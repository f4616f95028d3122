"""The outputs of validation are joined into one tensor, which grows with each batch.

ticket: Lightning-AI/pytorch-lightning#8583
class: host-growth
holder: outputs
cause: outgrown-blocks
"""

import os
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


class Evaluation:
    def __init__(self):
        self.head = torch.nn.Linear(64, 100)
        self.outputs = torch.zeros(0, 100)

    @torch.no_grad()
    def validation_step(self, batch):
        output = self.head(batch)
        self.outputs = torch.cat([self.outputs, output])  # grows


evaluation = Evaluation()
while time.time() < END:
    evaluation.validation_step(torch.randn(64, 64))
    time.sleep(0.02)
print(evaluation.outputs.shape)
