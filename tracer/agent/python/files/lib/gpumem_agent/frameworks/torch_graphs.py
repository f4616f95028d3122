"""What is behind the outputs of autograd: how far a graph reaches back, which
output keeps one, and how many bytes only it keeps.

A graph is walked from an output's grad_fn along next_functions; what a node
saved for the backward pass is read through its _saved_* attributes. Reading
runs a program's saved-tensor hooks (checkpointing, offloading), which bring
tensors into being that the graph does not hold; a node whose reading makes
the allocator's live bytes grow ends the reading of that graph. While the
program still runs nothing that was saved is read, only which operations follow
one another.
"""

import collections
import heapq
import itertools

from gpumem_agent.own import own

MAX_NODES = 200000


def kept_by_graphs(framework, outputs, visible, deadline):
    """[(output, bytes, word)]: for each output whose graph keeps storages that
    no visible tensor has, the bytes first reached from it and the name of its
    last operation. Outputs are taken in the order given."""
    reader = _Reader(framework, visible, deadline)
    kept = []
    for output in outputs:
        if reader.expired():
            break
        size = reader.bytes_behind(output.grad_fn)
        if size:
            kept.append((output, size, word(output.grad_fn)))
    return kept


class Graph:
    """The operations behind an output. It keeps them: for a moment only."""

    def __init__(self, node):
        self._node = node
        self.number = node._sequence_nr()  # later operations have higher ones
        self.word = word(node)

    def oldest(self, number, deadline):
        """How far operations lead back: the number of the oldest that was found in
        time, by this thread's clock, at most so far as to that number. The oldest come first: down a running
        total one step of the program at a time. Each is asked once: by skip connections there are
        more ways to an operation than there are operations."""
        oldest = self.number
        ages, seen, order = [(oldest, 0, self._node)], {self._node}, itertools.count(1)
        while ages and oldest > number and own.thread_time() < deadline:
            age, _, node = heapq.heappop(ages)
            oldest = min(oldest, age)
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    heapq.heappush(ages, (following._sequence_nr(), next(order), following))
        return oldest

    def has(self, number, deadline):
        """Whether the operation of a number is behind the output; None where that was not
        found in time. The newest come first."""
        newest, seen, order = [(-self.number, 0, self._node)], {self._node}, itertools.count(1)
        while newest and -newest[0][0] > number:
            if own.thread_time() >= deadline:
                return None
            for following, _ in heapq.heappop(newest)[-1].next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    heapq.heappush(newest, (-following._sequence_nr(), next(order), following))
        return bool(newest) and -newest[0][0] == number

    def saving(self, most, deadline):
        """How many operations, of so many, are of kinds that save arrays, freed or not."""
        seen, _ = _behind(self._node, most, deadline)
        kinds = collections.Counter(map(type, seen))
        return sum(number for kind, number in kinds.items() if _saves(kind))


def operations(node, most, deadline):
    """How many operations are behind one, with it, up to so many; and whether these are all."""
    seen, is_whole = _behind(node, most, deadline)
    return len(seen), is_whole


def _behind(node, most, deadline):
    """The operations behind one, with it, up to so many; and whether these are all."""
    seen, pending = {node}, [node]
    while pending and len(seen) < most:
        if own.thread_time() >= deadline:
            break
        for following, _ in pending.pop().next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                pending.append(following)
    return seen, not pending


def _saves(kind):
    """Whether operations of a kind save arrays. Its names tell; no value is asked for."""
    return any(name.startswith("_raw_saved_") for base in kind.__mro__ for name in vars(base))


def word(node):
    """The name of an operation: Add."""
    return node.name().replace("Backward0", "")


class _Reader:
    def __init__(self, framework, visible, deadline):
        self._framework = framework
        self._visible = visible  # keys of storages that tensors show
        self._seen_nodes = set()
        self._keep = []  # nodes, so that their identities stay theirs
        self._deadline = deadline

    def expired(self):
        return own.monotonic() > self._deadline or len(self._keep) > MAX_NODES

    def bytes_behind(self, node):
        size, pending, readable = 0, [node], True
        while pending and not self.expired():
            node = pending.pop()
            if node is None or node in self._seen_nodes:
                continue
            self._seen_nodes.add(node)
            self._keep.append(node)
            if readable:
                live = self._framework.live_bytes()
                size += self._saved_by(node)
                readable = not _grew(live, self._framework.live_bytes())
            pending.extend(n for n, _ in node.next_functions)
        return size

    def _saved_by(self, node):
        size = 0
        for value in _saved_values(node):
            described = self._framework.describe(value)
            if described is None:
                continue
            key, bytes_, *_ = described
            if key not in self._visible:
                self._visible.add(key)
                size += bytes_
        return size


def _grew(before, after):
    return before is not None and after is not None and after > before


def _saved_values(node):
    """Tensors that a node saved. Reading one fails when it was freed."""
    names = [n for n in dir(type(node)) if n.startswith("_saved_")]
    if hasattr(node, "saved_tensors"):
        names.append("saved_tensors")  # a torch.autograd.Function of Python's
    for name in names:
        try:
            value = getattr(node, name)
        except Exception:
            continue
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if hasattr(item, "grad_fn"):
                yield item
