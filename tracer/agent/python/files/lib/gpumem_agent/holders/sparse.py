"""Sparse gradients of embeddings: each backward pass adds its rows to one that nobody zeroes.

The gradient hangs on its parameter in C++, where no collector sees it, and Python has no object
for it until somebody asks. Only PyTorch's own C functions are asked, past the program's classes.
"""

import math
import sys

from gpumem_agent.holders.kinds import is_a, namespace

KIND = "gradients-never-zeroed"
OF_ROW = 8  # bytes of the number that says which row of the weight it is


def kinds():
    """PyTorch's embeddings, where the program has them."""
    module = sys.modules.get("torch.nn.modules.sparse")
    names = namespace(module) if module is not None else {}
    return tuple(kind for kind in map(names.get, ("Embedding", "EmbeddingBag")) if is_a(kind, type))


def size(module):
    """(bytes, whether they are on the host) of the sparse gradient of an embedding's weight; None without one."""
    base = getattr(getattr(sys.modules.get("torch"), "_C", None), "_TensorBase", None)
    weight = (namespace(module).get("_parameters") or {}).get("weight")
    if base is None or not is_a(weight, base) or not base.requires_grad.__get__(weight):
        return None
    with sys.modules["torch"]._C.DisableTorchFunction():
        gradient = base.grad.__get__(weight)
        if gradient is None or not base.is_sparse.__get__(gradient):
            return None
        shape, each = tuple(base.shape.__get__(gradient)), base.element_size(gradient)
        rows = base._nnz(gradient)
        return rows * (math.prod(shape[1:]) * each + OF_ROW), base.device.__get__(gradient).type == "cpu"
