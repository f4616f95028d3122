"""The branch of a tee that is read behind the others.

What one branch has given and another has not is in links of ELEMENTS each, from which each
branch goes on to the next. So the branch behind comes to all that the others come to.
"""

import gc
import itertools

from gpumem_agent import atomic
from gpumem_agent.holders.kinds import TEE
from gpumem_agent.own import own
from gpumem_agent.sampling import paused

LINK = getattr(itertools, "_tee_dataobject", None)
ELEMENTS = 57  # of a link
MOST = 10000  # links that are counted, of all branches together


def behind():
    """The identity of the branch that has most to give yet; None without any."""
    box, found, links = [], [], {}
    with paused():
        own.sleep(0)
        atomic.once(
            atomic.everything(box),
            atomic.fill(found, itertools.compress(atomic.each(box), _are_tees(box))),
            atomic.empty(box),
        )
        for branch in found:
            links.setdefault(id(_next(branch)), id(branch))
        ways = {id(b): _way(b, links, MOST // len(found)) for b in found if id(b) in links.values()}
        found.clear()
    return max(ways, key=lambda branch: _number(branch, ways), default=None)


def _are_tees(box):
    return map(id(TEE).__eq__, atomic.types_of(atomic.each(box)))


def _next(item):
    """The link that a branch or a link goes on to, or None."""
    below = gc.get_referents(item)
    return below[-1] if below and type(below[-1]) is LINK else None


def _way(branch, links, most):
    """(links from a branch on to where another one is, that other one or None)."""
    own_link = link = _next(branch)
    for number in range(most):
        if link is None:
            return number, None
        if link is not own_link and id(link) in links:
            return number, links[id(link)]
        link = _next(link)
    return most, None


def _number(branch, ways):
    """Links from a branch on to the end."""
    number = 0
    while branch is not None:
        more, branch = ways[branch]
        number += more
    return number
