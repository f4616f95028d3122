"""Pretraining of an encoder with its own quantizing autograd Function, which keeps both of its outputs
on ctx as attributes: outputs, node and ctx hold one another, and no collector sees through the node.

ticket: pytorch/pytorch#25340
class: app-leak
holder: ctx quantized residual QuantizeBackward
cause: reference-cycle uncut-autograd-graph
"""

import dataclasses
import logging
import os
import random
import time

import torch

log = logging.getLogger("vq")
device = "cuda" if torch.cuda.is_available() else "cpu"


@dataclasses.dataclass
class Config:
    seconds: float = float(os.environ.get("SECONDS", "40"))
    width: int = 512
    batch: int = 128
    levels: int = 64
    probe_every: int = 20


class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, codes):
        nearest = torch.cdist(x, codes).argmin(dim=1)
        ctx.quantized = codes[nearest]  # grows
        ctx.residual = x - ctx.quantized  # grows
        return ctx.quantized, ctx.residual

    @staticmethod
    def backward(ctx, grad, grad_residual):
        return grad + grad_residual + 1e-3 * ctx.residual, None


class Encoder(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Linear(config.width, config.width), torch.nn.GELU(), torch.nn.Linear(config.width, config.width)
        )
        self.register_buffer("codes", torch.randn(config.levels, config.width))

    def forward(self, x):
        return Quantize.apply(self.body(x), self.codes)


class Trainer:
    def __init__(self, config):
        self.config = config
        self.model = Encoder(config).to(device)
        self.head = torch.nn.Linear(config.width, config.width).to(device)
        self.optimizer = torch.optim.AdamW([*self.model.parameters(), *self.head.parameters()], lr=1e-4)

    def batch(self):
        return torch.randn(self.config.batch, self.config.width, device=device)

    def step(self):
        x = self.batch()
        codes, residual = self.model(x)
        loss = torch.nn.functional.mse_loss(self.head(codes), x) + 0.25 * residual.square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def probe(self):
        used = [self.model(self.batch())[1].norm(dim=1).mean().item() for _ in range(random.randint(4, 8))]
        return sum(used) / len(used)

    def fit(self):
        end, step = time.time() + self.config.seconds, 0
        while time.time() < end:
            loss = self.step()
            step += 1
            if step % self.config.probe_every == 0:
                log.info("step %d, loss %.3f, norm %.3f", step, loss, self.probe())
            time.sleep(0.03)


def main():
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO)
    Trainer(Config()).fit()


if __name__ == "__main__":
    main()
