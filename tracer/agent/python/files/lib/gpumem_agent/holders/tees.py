"""The branch of a tee that is read behind the others.

What one branch has given and another has not is in links of ELEMENTS each, from which each
branch goes on to the next. So the branch behind comes to all that the others come to.
"""

import gc
import itertools

from gpumem_agent import atomic
from gpumem_agent.holders.kinds import TEE
from gpumem_agent.holders.paths import Path
from gpumem_agent.own import own
from gpumem_agent.sampling import paused

LINK = getattr(itertools, "_tee_dataobject", None)
ELEMENTS = 57  # of a link
MOST = 10000  # links that are counted, of all branches together


def put_together(found, reach):
    """Tells all that branches of one tee are told for of the one behind: each reaches the last
    elements, and those that are read reach them first."""
    told = {p: next(iter(c)) for p, c in found.places().items() if p.startswith("tee ") and len(c) == 1}
    standing = branches() if told else {}
    moved = {p: standing[b][1] for p, b in told.items() if b in standing and standing[b][1] != b}
    names = {b: path_of(b, reach) for b in {*moved.values(), *map(told.get, moved)}}
    for path, branch in moved.items():
        name, other = names[told[path]], names[branch]
        if name and other and path.startswith(name) and path in found.found:
            found.move(path, other + path[len(name) :])


def path_of(branch, reach):
    """The path of a branch; None where no name leads to it."""
    is_reached = branch in reach.above({branch})
    return reach.named([branch], Path.of_kind).get(branch) if is_reached else None


def branches():
    """{identity of each branch: (links that it has yet to give, the identity of the branch of
    the same tee that has most)}. Of those in one link none is behind the others."""
    box, found, at, ways = [], [], {}, {}
    with paused():
        own.sleep(0)
        atomic.once(
            atomic.everything(box),
            atomic.fill(found, itertools.compress(atomic.each(box), _are_tees(box))),
            atomic.empty(box),
        )
        for branch in found:
            at.setdefault(id(_next(branch)), []).append(id(branch))
        for link in map(_next, found):
            ways[id(link)] = ways.get(id(link)) or _way(link, at, MOST // len(found))
            del link
        found.clear()
    wholes, most = {link: _whole(link, ways) for link in ways}, {}
    for link, (number, end) in wholes.items():
        most[end] = max(most.get(end, (0, link)), (number, link))
    return {branch: _told(branch, link, at, wholes, most) for link, some in at.items() for branch in some}


def behind():
    """The identity of the branch that has most to give yet; None without any."""
    told = branches()
    return max(told, key=lambda branch: told[branch][0], default=None)


def _told(branch, link, at, wholes, most):
    number, end = wholes[link]
    _, first = most[end]
    return number, branch if first == link else at[first][0]


def _are_tees(box):
    return map(atomic.key(TEE).__eq__, atomic.types_of(atomic.each(box)))


def _next(item):
    """The link that a branch or a link goes on to, or None."""
    below = gc.get_referents(item)
    return below[-1] if below and type(below[-1]) is LINK else None


def _way(link, at, most):
    """(links from one on to where another branch is, the identity of that link or None)."""
    first = link
    for number in range(most):
        if link is None:
            return number, None
        if link is not first and id(link) in at:
            return number, id(link)
        link = _next(link)
    return most, None


def _whole(link, ways):
    """(links from one on to the last, the last one at which a branch is)."""
    number, end = 0, link
    while link is not None:
        end = link
        more, link = ways[link]
        number += more
    return number, end
