"""Sparse gradients of embeddings: each backward pass adds its rows to one that nobody zeroes.

The gradient hangs on its parameter in C++, where no collector sees it, and Python has no object
for it until somebody asks. Only PyTorch's own C functions are asked, past the program's classes.
"""

import math
import sys

from gpumem_agent import threads
from gpumem_agent.holders.kinds import is_a, namespace

KIND = "gradients-never-zeroed"
OF_ROW = 8  # bytes of the number that says which row of the weight it is
BUSY = "busy"  # nobody may look now
BACKWARD = "torch/autograd/__init__.py", "torch/autograd/graph.py"  # the callers of PyTorch's engine
MOST_FRAMES = 2000  # of all threads


def kinds():
    """PyTorch's embeddings, where the program has them."""
    module = sys.modules.get("torch.nn.modules.sparse")
    names = namespace(module) if module is not None else {}
    return tuple(kind for kind in map(names.get, ("Embedding", "EmbeddingBag")) if is_a(kind, type))


def size(module):
    """(bytes, whether they are on the host) of the sparse gradient of an embedding's weight; None without one,
    BUSY while a backward pass may be adding to it. The caller has the interpreter's lock, and keeps it."""
    torch = sys.modules["torch"]
    base, parameters = torch._C._TensorBase, namespace(module).get("_parameters")
    weight = dict.get(parameters, "weight") if is_a(parameters, dict) else None
    if not is_a(weight, base):
        return None
    if _may_run_backward():
        return BUSY
    with torch._C.DisableTorchFunction():
        gradient = base.grad.__get__(weight)
        # One of a class of the program's might answer with code of its own.
        if type(gradient) is not torch.Tensor or not base.is_sparse.__get__(gradient):
            return None
        shape, each = tuple(base.shape.__get__(gradient)), base.element_size(gradient)
        rows = base._nnz(gradient)
        return rows * (math.prod(shape[1:]) * each + OF_ROW), base.device.__get__(gradient).type == "cpu"


def _may_run_backward():
    """Whether a thread is in a backward pass, for which it lets go of the interpreter's lock: that replaces
    the parts of a gradient. True as well where nobody's frames are known, or where there are too many."""
    running = threads.teller()()
    left = MOST_FRAMES
    for frame in running.values():
        while frame is not None and left:
            if frame.f_code.co_filename.endswith(BACKWARD):
                return True
            frame, left = frame.f_back, left - 1
    return not running or not left
