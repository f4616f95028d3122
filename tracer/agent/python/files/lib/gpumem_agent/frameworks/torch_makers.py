"""Which module made an activation, told by autograd's graph.

At an error nobody has watched the forward passes. The graph behind the activations
names parameters, and each of these has a module: what an operation with a parameter
made is that module's. What other operations made lies between two such modules, the
one before and the one behind: it is told as of the innermost module that contains
both. Only the graph's shape is read: what its operations saved is not asked for, which
would run hooks of the program's."""

from gpumem_agent.own import own

NODES = 20000
LOOKS = 64  # operations between two looks at the clock
LEAF = "AccumulateGrad"
# Operations that only show a parameter otherwise, on its way into another.
SHOWN = {"T", "Transpose", "ToCopy", "View", "Expand", "Permute", "AsStrided", "Unsqueeze", "Squeeze", "Alias"}


def running(frame):
    """The module whose forward pass a frame runs in, the innermost; None without one."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_call_impl" and code.co_filename.replace("\\", "/").endswith("nn/modules/module.py"):
            return frame.f_locals.get("self")
        frame = frame.f_back
    return None


class Graph:
    """The graph behind {address: tensor with a grad_fn}, as far as it was walked in time.
    now is the number of the module whose forward pass runs, or None. It keeps the
    operations: for a moment only."""

    def __init__(self, outputs, paths, now, deadline):
        self._paths = paths
        self._now = now
        self._deadline = deadline
        self._numbers = {name: number for number, name in enumerate(paths.names)}
        self.children = {}  # of each operation, those that it takes from
        self.makers = {address: _maker(tensor) for address, tensor in outputs.items()}
        self.order = []  # an operation comes behind all that it takes from
        self.uses = {}  # by parameter, as its leaf of the graph: the operations that take it
        for node in self.makers.values():
            if node is not None:
                self._walk(node)
        self._owners = {node: self._owner(node) for node in self.order}

    def modules(self):
        """{address: number of a module}, as far as there is one."""
        place = {node: n for n, node in enumerate(self.order)}
        owners, before, behind = self._owners, {}, {}
        for node in self.order:
            known = [c for c in self.children[node] if before.get(c) is not None]
            latest = max(known, key=place.get, default=None)
            before[node] = owners[node] if owners[node] is not None else before.get(latest)
        for node in reversed(self.order):
            following = owners[node] if owners[node] is not None else behind.get(node, self._now)
            for child in self.children[node]:
                behind[child] = following  # the first to take from it comes last
        made = {}
        for address, node in self.makers.items():
            if node not in place:
                continue
            number = owners[node]
            if number is None:
                number = self._around(before[node], behind.get(node, self._now))
            if number is not None:
                made[address] = number
        return made

    def is_training(self):
        """Whether one of its modules is in training mode; None where none is known."""
        known = {number for number in self._owners.values() if number is not None}
        modes = [self._paths.is_training(number) for number in known]
        return any(modes) if modes else None

    def has_inputs(self):
        """Whether it leads to what waits for a gradient and is no module's."""
        return any(self._paths.of_tensor(leaf.variable) is None for leaf in self.uses)

    def _walk(self, node):
        waiting = self._opened(node)
        while waiting:
            node, children = waiting[-1]
            child = next(children, None)
            if child is not None:
                waiting += self._opened(child)
            else:
                self.order.append(node)
                waiting.pop()

    def _opened(self, node):
        """An operation that is new, with those that it takes from; nothing for another."""
        known = len(self.children)
        if node in self.children or _is_leaf(node) or known >= NODES:
            return []
        if known % LOOKS == LOOKS - 1 and own.monotonic() > self._deadline:
            return []
        self.children[node] = [c for c, _ in node.next_functions if c is not None]
        return [(node, iter(self.children[node]))]

    def _owner(self, node):
        """The module of the first parameter that goes into an operation. Notes the use of
        all of them."""
        owner = None
        for leaf in () if _shows(node) else self._leaves(node):
            self.uses.setdefault(leaf, []).append(node)
            if owner is None:
                owner = self._paths.of_tensor_alone(leaf.variable)
        return owner

    def _leaves(self, node):
        """What an operation takes that is itself no operation's, shown otherwise or not."""
        for child in self.children[node]:
            while not _is_leaf(child) and _shows(child):
                below = [c for c, _ in child.next_functions if c is not None]
                if len(below) != 1:
                    break
                child = below[0]
            if _is_leaf(child):
                yield child

    def _around(self, first, second):
        """The innermost module with both in it; None where one is not known."""
        if first is None or second is None:
            return None
        common = []
        for a, b in zip(self._paths.names[first].split("."), self._paths.names[second].split(".")):
            if a != b:
                break
            common.append(a)
        return self._numbers.get(".".join(common)) if common else self._paths.root


def _maker(tensor):
    """The operation that made a tensor's memory: of a view, that of what it shows."""
    base = tensor._base if tensor._is_view() else None
    return tensor.grad_fn if base is None else base.grad_fn


def _is_leaf(node):
    return type(node).__name__ == LEAF


def _shows(node):
    name, _, _ = type(node).__name__.partition("Backward")
    return name in SHOWN
