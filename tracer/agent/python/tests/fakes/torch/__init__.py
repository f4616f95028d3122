"""A stand-in for PyTorch with a caching allocator of one GPU that counts like
the real one, and autograd nodes that save tensors. It knows who brought the
device to life, so that a test can say the agent did not."""

__version__ = "0.0.fake"

from torch import _C, cuda, nn, optim  # noqa: E402
from torch._tensor import Tensor, empty, operation  # noqa: E402
from torch.cuda import OutOfMemoryError  # noqa: E402

__all__ = ["OutOfMemoryError", "Tensor", "empty", "operation", "cuda", "nn", "optim", "_C"]


class version:
    cuda = "13.0"


def __getattr__(name):
    if name == "_inductor":
        import importlib

        return importlib.import_module("torch._inductor")
    raise AttributeError(name)
