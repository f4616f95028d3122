"""Imports PyTorch and never uses a device."""

import time

import torch

time.sleep(0.5)
print(torch.cuda.initialized_by)
