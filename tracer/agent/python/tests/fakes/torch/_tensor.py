import itertools
import math
import weakref

from torch import cuda


class _Device:
    def __init__(self, text):
        self.type, _, index = text.partition(":")
        self.index = int(index) if index else None
        self._text = text

    def __str__(self):
        return self._text


class _Storage:
    def __init__(self, size, device):
        self._size = size
        self.device = device
        self._block = None
        self._block = cuda.allocate(size) if device.type == "cuda" else None

    def nbytes(self):
        return self._size

    def data_ptr(self):
        return id(self) if self._block is None else cuda.address_of(self._block)

    def __del__(self):
        if self._block is not None:
            cuda.free(self._block)


_saved = weakref.WeakKeyDictionary()  # node: storage, out of the collector's sight


_numbers = itertools.count()


class _Node:
    """An operation of autograd that saves its input's storage. In the real one
    that lives in C++: only reading it makes a tensor of it."""

    def __init__(self, operation, saved, following):
        self._operation = operation
        self._number = next(_numbers)
        self.next_functions = tuple((node, 0) for node in following)
        _saved[self] = saved.untyped_storage()

    def name(self):
        return self._operation + "Backward0"

    def _sequence_nr(self):
        return self._number

    @property
    def _saved_self(self):
        storage = _saved[self]
        return Tensor(storage, _Device("cuda:0"), (storage.nbytes(),))


class Tensor:
    grad = grad_fn = None
    is_leaf, requires_grad = True, False
    dtype = "float32"

    def __init__(self, storage, device, shape):
        self._storage = storage
        self.device = device
        self.shape = shape

    def _is_view(self):
        return False

    def data_ptr(self):
        return self._storage.data_ptr()

    def untyped_storage(self):
        return self._storage

    def numel(self):
        return math.prod(self.shape)

    def element_size(self):
        return 1

    @property
    def nbytes(self):
        return self._storage.nbytes()


def empty(size, device="cuda:0"):
    device = _Device(device)
    return Tensor(_Storage(size, device), device, (size,))


def operation(name, source, *others):
    """A small output whose graph saves source and goes on with the graphs of all."""
    output = empty(512)
    following = [s.grad_fn for s in (source, *others) if s.grad_fn is not None]
    output.grad_fn = _Node(name, source, following)
    output.is_leaf, output.requires_grad = False, True
    return output
