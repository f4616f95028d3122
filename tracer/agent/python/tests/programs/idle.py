"""Imports PyTorch and never uses a device."""

import sys
import time

import torch

time.sleep(0.5)
print(torch.cuda.initialized_by, "torch._inductor" in sys.modules)
