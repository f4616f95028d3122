"""How many forward passes autograd's graph keeps at an error, and how much of each.

One pass whose backward pass has not come says little: it may be about to. Several say
that outputs of passes that are over keep what these made. Passes are told apart by
their shape: one begins where an operation takes a parameter, and follows none that
takes it too, as a recurrent module's later steps do. Of the parameters one is chosen
that is used no more often than most: a pass may use some several times. Only the
graph's shape is read, see torch_makers."""

PART = 10  # a pass counts that has this part of what the largest has
QUARTER = 4  # of the parameters are used less often than the one that tells passes apart


class Passes:
    """What a torch_makers.Graph keeps, of activations with sizes {address: bytes}."""

    def __init__(self, graph, sizes):
        self._graph = graph
        self._sizes = sizes
        self.uses = 0  # of the parameter that tells passes apart
        self._of = self._assigned(self._first_uses())
        self._bytes = self._sums()
        most = max(self._bytes.values(), default=0)
        self._kept = {p for p, size in self._bytes.items() if size * PART >= most > 0}
        self.outputs = []  # addresses of those that no operation takes, of the fullest graph first
        self.joined = 0

    def told(self):
        """Keys for an event, or None where there is no pass."""
        if not self._kept:
            return None
        self._find_outputs()
        told = {
            "passes": len(self._kept),
            "joined": self.joined,
            "uses": self.uses,
            "bytes": sum(self._bytes.values()),
            "earlier_bytes": sum(self._bytes.values()) - max(self._bytes.values()),
            "output_bytes": sum(self._sizes.get(a, 0) for a in self.outputs),
        }
        training = self._graph.is_training()
        if training is not None:
            told["training"] = training
        if self._graph.has_inputs():
            told["inputs"] = True
        return told

    def _first_uses(self):
        """The operations in which passes begin."""
        uses = list(self._graph.uses.values())
        if not uses:
            return []
        usual = sorted(map(len, uses))[len(uses) // QUARTER]
        chosen = set(next(nodes for nodes in uses if len(nodes) == usual))
        self.uses = usual
        first, behind = [], set()
        for node in self._graph.order:
            if any(c in chosen or c in behind for c in self._graph.children[node]):
                behind.add(node)
            elif node in chosen:
                first.append(node)
        return first

    def _assigned(self, first):
        """{operation: number of its pass}: of several that lead to it, the last."""
        of = {node: number for number, node in enumerate(first)}
        for node in self._graph.order:
            known = [of[c] for c in self._graph.children[node] if c in of]
            if known:
                of.setdefault(node, max(known))
        for node in reversed(self._graph.order):  # and what comes before the first use
            if node in of:
                for child in self._graph.children[node]:
                    of.setdefault(child, of[node])
        return of

    def _sums(self):
        sums = {}
        for address, size in self._sizes.items():
            number = self._of.get(self._graph.makers.get(address))
            if number is not None:
                sums[number] = sums.get(number, 0) + size
        return sums

    def _find_outputs(self):
        """Walks from each output, those that lead furthest first: what is behind two
        counts for the first."""
        children = self._graph.children
        taken = {child for node in children for child in children[node]}
        by_node = {node: address for address, node in self._graph.makers.items()}
        ends = [node for node in reversed(self._graph.order) if node not in taken]
        seen, counts = set(), []
        for end in ends:
            waiting, passes = [end], set()
            while waiting:
                node = waiting.pop()
                if node in seen or node not in children:
                    continue
                seen.add(node)
                passes.add(self._of.get(node))
                waiting += children[node]
            counts.append((len(passes & self._kept), end))
        counts.sort(key=lambda pair: -pair[0])
        self.joined = counts[0][0] if counts else 0
        self.outputs = [by_node[end] for n, end in counts if n and end in by_node]
