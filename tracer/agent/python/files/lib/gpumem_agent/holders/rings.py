"""By which attributes objects lead back to themselves: one of these is to be made weak."""

import collections

from gpumem_agent import atomic
from gpumem_agent.holders.kinds import attributes, owns

MOST_NAMES = 4  # of attributes
ASKED = 3  # objects, whose ways back are compared
BELOW = 1000  # objects below one of them


def through(some, is_followed):
    """" through .children and .parent": the attributes on the shortest way from some objects back to
    themselves, in the order of the alphabet; nothing where they have no names. is_followed says of a
    referent whether the way may lead over it."""
    ways = collections.Counter(filter(None, (_names(item, is_followed) for item in some[:ASKED])))
    if not ways:
        return ""
    names = max(ways, key=lambda way: (ways[way], way))
    names = [".%s" % name for name in names]
    return " through %s" % " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _names(item, is_followed):
    ring, found = _ring(item, is_followed), set()
    for place, (holder, kept) in enumerate(zip(ring, ring[1:])):
        if type(holder) is dict and place and owns(ring[place - 1], holder):
            found.update(key for key, value in list(holder.items()) if value is kept and type(key) is str)
        elif type(holder) is not dict:
            found.update(name for name, value in attributes(holder) if value is kept and type(name) is str)
    return tuple(sorted(found)[:MOST_NAMES])


def _ring(item, is_followed):
    """The objects on the shortest way from one back to it, which is the first and the last; none
    where it is longer than is looked for."""
    above, pending = {id(item): None}, collections.deque([item])
    while pending:
        holder = pending.popleft()
        for child in atomic.referents(holder):
            if child is item:
                return _way(holder, above) + [item]
            if len(above) > BELOW:
                return []
            if id(child) not in above and is_followed(child):
                above[id(child)] = holder
                pending.append(child)
    return []


def _way(item, above):
    way = [item]
    while above[id(way[-1])] is not None:
        way.append(above[id(way[-1])])
    return way[::-1]
