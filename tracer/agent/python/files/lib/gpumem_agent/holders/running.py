"""Who holds what was made late, while the program runs on.

Programs end in ways that leave nothing to ask for: a function returns and its
list of losses is gone, or the kernel kills them for memory. So now and then the
sampling thread looks (see downward) and tells what it found. What native code or
only a library holds is left for the program's end; for what autograd keeps see
graphs.
"""

import itertools

from gpumem_agent.frameworks.sources import sources
from gpumem_agent.holders import living
from gpumem_agent.holders.downward import Reach
from gpumem_agent.holders.naming import Holders, grown, late, sized
from gpumem_agent.holders.paths import Name
from gpumem_agent.holders.register import Register
from gpumem_agent.own import own
from gpumem_agent.sampling import paused

MOST_ARRAYS = 20000
TRIES = 3
PAUSE = 0.001  # seconds, for the program to go on


def look(process, reference, deadline):
    """(holders of what is later than the reference, what was reached)."""
    frameworks = sources(process.frameworks)
    on_device = any(f.active() for f in process.frameworks)
    reach = Reach([kind for f in frameworks for kind in f.types()])
    noted = Noted(reach)
    if reference is None:
        return [], noted
    found = Holders(deadline, Downwards(reach))
    found.name(late(_described(noted, reference, frameworks, deadline), reference))
    if not on_device:
        add_containers(found, reach, reference)
    return found.listed(), noted


def lasting(found, before):
    """Those holders that are more than a moment's work: of several arrays, and
    of more than when they were told before."""
    sizes = {entry["path"]: entry["bytes"] for entry in before}
    return [e for e in found if e["count"] > 1 and e["bytes"] > sizes.get(e["path"], 0)]


class Noted(Register):
    """The arrays and large containers that a look reached."""

    partial = True

    def __init__(self, reach):
        super().__init__(reach.arrays(), reach.containers())
        self.complete = reach.complete


class Downwards:
    """Finds names of arrays that were reached. See naming.Holders."""

    complete = True

    def __init__(self, reach):
        self._reach = reach
        self._chains = {}

    def names(self, arrays):
        """{identity: Name} of some arrays. A coroutine shows its variables only while
        it does not run, so what has no name now may have one a moment later."""
        found, missing = {}, [a.identity for a in arrays]
        for attempt in range(TRIES):
            if attempt:
                own.sleep(PAUSE)
            found.update(_named(self._reach, missing))
            missing = [i for i in missing if i not in found]
            if not missing:
                break
        return found

    def below(self, container, arrays):
        return [a for i, a in arrays.items() if container in self._chain(i)]

    def _chain(self, identity):
        if identity not in self._chains:
            self._chains[identity] = self._reach.chain(identity)
        return self._chains[identity]


def _named(reach, identities, look_at=Name):
    """{identity: Name} of what is still where it was. The objects on the way are
    held for as long as that takes, and nobody else runs meanwhile: other threads
    that wait for the interpreter's lock began to do so when we last gave it up."""
    with paused():
        own.sleep(0)
        paths = reach.paths(identities)
        found = {identity: look_at(path) for identity, path in paths.items()}
        paths.clear()
    return found


def _described(noted, reference, frameworks, deadline):
    """The Arrays that were reached; of too many the late ones first."""
    first = {i: weak for i, weak in noted.noted.items() if reference.is_late(i, weak)}
    live = dict(itertools.islice({**first, **noted.noted}.items(), MOST_ARRAYS))
    found = [living.described(live, f, deadline, f.types()) for f in frameworks]
    return list(itertools.chain.from_iterable(found))


def add_containers(found, reach, reference, known=()):
    """Adds the containers that gained most elements: the host's own leaks. Those
    that are known by their identities already are left out."""
    lengths = {i: n for i, n in reach.containers().items() if i not in known}
    gains = grown(lengths, reference)
    named = _named(reach, gains, lambda path: sized(path, gains[id(path.chain[-1])]))
    for name, size, count in named.values():
        found.add(name, size, count)
