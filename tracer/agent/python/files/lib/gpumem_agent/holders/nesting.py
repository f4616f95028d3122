"""Containers within containers.

A list of games has few elements, and each game a list of turns, each turn a list of numbers: the
most elements are in the innermost lists, of which there are thousands, and what keeps them all is
the list that gained a few games.
"""

from gpumem_agent.holders.living import SOME

MOST = 5000  # containers that gained, whose ways are gone, from all over
OUTER = 8  # containers that are told for what is in others below them


class Nesting:
    """The containers that gained elements since a reference, and those on the way to each."""

    def __init__(self, lengths, reference, reach):
        gains = {i: reference.growth(i, length) for i, length in lengths.items()}
        self._gains = {i: gain for i, gain in gains.items() if gain > 0}
        most = [i for i, gain in self._gains.items() if gain >= SOME]
        self._ways = {i: reach.chain(i)[:-1] for i in most[:: len(most) // MOST + 1]}

    def outer(self, chosen):
        """{identity: elements gained} of those besides the chosen ones below which most was gained,
        in containers of containers: what is in those of its own elements, times tells."""
        below = {}
        for identity, way in self._ways.items():
            for above in list(filter(self._gains.__contains__, way))[:-1]:
                below[above] = below.get(above, 0) + self._gains[identity]
        most = sorted((i for i in below if i not in chosen), key=below.get, reverse=True)
        return {i: self._gains[i] for i in most[:OUTER] if below[i] > self._gains[i]}

    def times(self, chosen):
        """{identity: for how many} of the chosen containers: each stands for those that gained
        below the same one, as the results in a cache do. That is the closest on its way that
        gained, too, or what refers to it where none did."""
        ours, every, parents = {}, {}, {}
        for identity, way in self._ways.items():
            if way:
                gain = self._gains[identity]
                parent = next((i for i in reversed(way) if i in self._gains), way[-1])
                parents[identity] = parent
                every[parent] = every.get(parent, 0) + gain
                if identity in chosen:
                    ours[parent] = ours.get(parent, 0) + gain
        return {i: every[p] / ours[p] for i, p in parents.items() if i in chosen}
