"""Fetches the objects of a chain again, from its name on.

Between a look and the naming of what it found the program runs on for a moment. A list that
is only ever put together anew, as by `history = history + [loss]`, is another one by then.
So where an object of a chain is not there any more, one that leads to what the chain goes on
to stands in for it, below the same object or in the same variable: that may take several at
once, as of a state whose tuple of frames is another one when the state is. In the place of an
array at the end of a chain there may be a longer one.
"""

import itertools
import types

from gpumem_agent import atomic
from gpumem_agent.holders.kinds import is_a, owns
from gpumem_agent.holders.local import Local

LONGEST = 100000  # elements of a container that may stand in
WIDEST = 64  # objects that one refers to, among which others than containers may stand in
TRIES = 3  # for each one that is gone
IN_A_ROW = 3  # objects that others stand in for, one below the other
NOT_BELOW = (type, types.ModuleType, types.FunctionType, types.FrameType)


class Following:
    """The chains of one look. Values are what variables refer to, by identity, and now by
    variable. Kinds are the keys of the types of containers. Hidden is what no
    collector sees: see frameworks. Arrays are the keys of the types of what may be in
    the place of an end, none of those that are known."""

    def __init__(self, values, now, kinds, hidden, arrays=(), known=()):
        self._values, self._now = values, now
        self._kinds, self._hidden = kinds, hidden
        self._arrays, self._known = arrays, known
        self._instead = {}  # {identity of an object that is gone: what stands in}
        self._tried = {}  # {the same: times that none was found}

    def objects(self, head, chain):
        """The objects of a chain from its head on, each where the one before still refers to
        it or to what stands in for it, else None."""
        found = [head]
        for place, identity in enumerate(chain):
            item = self._next(found[-1], identity, chain[place + 1 :])
            if item is None:
                return None
            found.append(item)
        return found

    def _next(self, parent, identity, rest):
        if type(parent) is Local:
            item = self._values.get(identity)
            children = [self._now.get(parent.key())] if item is None else []
        else:
            children = atomic.referents(parent)
            item = child(children, identity)
            if item is None:  # to name another object may have given this one a dictionary
                names = next((c for c in children if type(c) is dict and owns(parent, c)), {})
                children += names.values()
                item = child(children, identity)
        if item is None and atomic.key(type(parent)) in self._hidden[0]:
            item = child([self._hidden[1](parent)], identity)
        if item is None and rest:
            item = self._stand_in(children, identity, rest)
        elif item is None and self._arrays:
            new = [c for c in children if atomic.key(type(c)) in self._arrays and id(c) not in self._known]
            item = new[0] if len(new) == 1 else None
        return item

    def _stand_in(self, children, identity, rest):
        """The one among some objects that leads to the rest of a chain, in place of one that
        is gone."""
        if identity not in self._instead and self._tried.get(identity, 0) < TRIES:
            item = self._leading(children, rest, IN_A_ROW)
            if item is None:
                self._tried[identity] = self._tried.get(identity, 0) + 1
            else:
                self._instead[identity] = item
        return self._instead.get(identity)

    def _leading(self, children, rest, most):
        """The one among some objects below which is the first of the rest of a chain, or what
        may stand in for that."""
        for item in filter(self._may_lead, children):
            if len(children) > WIDEST and atomic.key(type(item)) not in self._kinds:
                continue
            below = atomic.referents(item)
            if child(below, rest[0]) is not None:
                return item
            goes_on = most > 1 and len(rest) > 1 and len(below) <= WIDEST
            if goes_on and self._leading(below, rest[1:], most - 1) is not None:
                return item
        return None

    def _may_lead(self, item):
        if atomic.key(type(item)) in self._kinds:
            return len(item) <= LONGEST
        return not is_a(item, NOT_BELOW)


def child(children, identity):
    """The one of some objects that has an identity, or None."""
    return next(itertools.compress(children, map(identity.__eq__, map(id, children))), None)
