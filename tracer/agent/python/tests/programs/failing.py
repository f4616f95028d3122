"""Ends with an exception."""

import torch

torch.optim.SGD().step()
raise KeyError("the program's own")
