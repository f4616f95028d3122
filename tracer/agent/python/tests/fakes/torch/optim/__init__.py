from torch.optim import optimizer
from torch.optim.optimizer import Optimizer

__all__ = ["Optimizer", "SGD", "optimizer"]


class SGD(Optimizer):
    pass
