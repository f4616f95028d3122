"""From objects up to something a person can name: a module's variable, a
local of a function, a closure, a class.

The walk goes level by level with gc.get_referrers, many objects a call. All
it remembers of objects are their identities; the objects themselves are in
one list whose identity it knows, so that it does not find itself.
"""

import gc
import itertools
import sys
import types

from gpumem_agent import atomic
from gpumem_agent.holders import variables
from gpumem_agent.holders.kinds import (
    NAMED,
    OWN_FOLDER,
    RANKS,
    code_of,
    is_a,
    is_library,
    module_names,
    rank_of,
)
from gpumem_agent.holders.paths import Name, Path
from gpumem_agent.own import own

MAX_LEVELS = 16
PART = 64  # objects a call of get_referrers: its cost grows with both
MAX_WIDTH = 256  # objects a level that are followed
MAX_BELOW = 200000  # objects looked at below one container
ALONE = next(sys.getrefcount(item) for item in [object()])  # of a list and a variable: 2 from 3.14 on
NOT_BELOW = (type, types.ModuleType, types.FunctionType)  # not a container's own


class Walk:
    """The referrers of some objects, found once by climb."""

    def __init__(self, deadline):
        self._deadline = deadline
        self._locals, self._read, self._running = variables.named()
        self._store = []
        self._at = {}  # identity: place in the store
        self._children = {}  # identity of a parent: its children's
        self._below = {}  # identity of a parent: the child by which it was found
        self._roots = {}  # identity: rank
        self._keys = {}  # likewise, those that are its keys only
        self._own = {id(self._store), id(self._at), id(self._children), id(self._below), id(self.__dict__)}
        self._modules = module_names()
        self.complete = False  # every referrer was seen, none left out

    def climb(self, objects):
        """Finds the referrers of objects, and theirs, up to named ones. Only on
        a program that has come to its end: meanwhile they are kept alive."""
        level, is_whole = [self._keep(o) for o in objects], True
        del objects
        for _ in range(MAX_LEVELS):
            if not level:
                self.complete = is_whole
                return
            following = []
            for at in range(0, len(level), PART):
                if own.monotonic() > self._deadline:
                    return
                self._climb_part(level[at : at + PART], following)
            is_whole = is_whole and len(following) <= MAX_WIDTH
            level = self._some(following)

    def _some(self, following):
        """Those of the next level that are followed: where there are too many, some of what
        refers to each object, so that one that everybody has does not cost the others theirs."""
        if len(following) <= MAX_WIDTH:
            return following
        groups = {}
        for identity in following:
            groups.setdefault(self._below.get(identity), []).append(identity)
        turns = itertools.chain.from_iterable(itertools.zip_longest(*groups.values()))
        return list(itertools.islice(filter(None, turns), MAX_WIDTH))

    def _climb_part(self, ids, following):
        wanted = set(ids)
        part = [self._store[self._at[i]] for i in ids]
        self._own.add(id(part))
        parents = gc.get_referrers(*part)
        self._own.add(id(parents))
        for parent in parents:
            # Some interpreters report the call's own arguments: an object that
            # only parents and this variable hold.
            if sys.getrefcount(parent) > ALONE and not self._is_own(parent):
                self._link(parent, wanted, following)
        self._own.difference_update((id(part), id(parents)))
        for identity in wanted.intersection(self._locals):
            local = self._locals[identity]
            self._roots[self._keep(local)] = local.rank
            self._children.setdefault(id(local), set()).add(identity)

    def _is_own(self, parent):
        """Whether a referrer is part of this look, or is named otherwise."""
        if id(parent) in self._own or id(parent) in self._read:
            return True
        return _is_ours(parent)

    def _link(self, parent, wanted, following):
        new = id(parent) not in self._at
        identity = self._keep(parent)
        children = wanted.intersection(map(id, atomic.referents(parent)))
        held = _held(parent, children)
        self._children.setdefault(identity, set()).update(held)
        if len(held) < len(children):
            self._keys.setdefault(identity, set()).update(children - held)
        if not new:
            return
        rank = self._rank(parent)
        if rank is None:
            following.append(identity)
            self._below[identity] = min(children, key=self._at.get, default=None)
        else:
            self._roots[identity] = rank

    def _keep(self, item):
        identity = id(item)
        if identity not in self._at:
            self._at[identity] = len(self._store)
            self._store.append(item)
        return identity

    def _object(self, identity):
        return self._store[self._at[identity]]

    def _rank(self, item):
        """How well known a name is (see kinds.rank_of), None for what has none."""
        if id(item) in self._modules:
            return RANKS[-1] if is_library(self._modules[id(item)][1]) else RANKS[0]
        if is_a(item, types.FrameType):
            # What a function that has returned still holds, the holder of its
            # frame holds: an exception's traceback.
            return rank_of(item.f_code) if id(item) in self._running else None
        if is_a(item, NAMED):
            code = code_of(item)
            return RANKS[-1] if code is None or is_library(code.co_filename) else RANKS[0]
        return None

    def paths(self):
        """{identity of an object: Path from a root}: the shortest from the
        program's names, else the shortest from a library's."""
        found, before = {}, {}
        for links in ((self._children,), (self._children, self._keys)):
            for rank in RANKS:
                self._descend(rank, links, before)
        for identity in before:
            if before[identity] is not None:
                try:
                    found[identity] = self._path(identity, before)
                except Exception:
                    continue  # an object of the program's that cannot be asked
        return found

    def _descend(self, rank, links, before):
        """Notes for each object below the roots of a rank what precedes it."""
        before.update((r, None) for r, its in self._roots.items() if its == rank)
        level = list(before)
        while level:
            following = []
            for parent in level:
                for child in (c for link in links for c in link.get(parent, ())):
                    if child not in before:
                        before[child] = parent
                        following.append(child)
            level = following

    def _path(self, identity, before):
        chain = []
        while identity is not None:
            chain.append(self._object(identity))
            identity = before[identity]
        chain.reverse()
        return Path(chain, self._modules)


def _held(parent, children):
    """Of what an object refers to, the part that is not mere keys: optimizers
    have parameters for keys of their state, and are not what holds them."""
    if not is_a(parent, dict):
        return children
    return children.intersection(map(id, dict.values(parent)))


def _is_ours(item):
    """Frames of the agent, which exist for the collector before 3.11."""
    return is_a(item, types.FrameType) and item.f_code.co_filename.startswith(OWN_FOLDER)


class Upwards:
    """Finds names above arrays, for naming.Holders. What is on the way stays alive
    meanwhile."""

    climbs = True  # each round takes time

    def __init__(self, deadline):
        self._deadline = deadline
        self._containers = {}  # by identity
        self.complete = False  # whatever has a name was found

    def names(self, arrays):
        """{identity: Name} of some arrays."""
        walk = Walk(self._deadline)
        walk.climb([o for o in (a.alive() for a in arrays) if o is not None])
        self.complete = walk.complete
        paths = walk.paths()  # of all that is on the way, too
        paths = {a.identity: paths[a.identity] for a in arrays if a.identity in paths}
        self._containers.update((id(p.container), p.container) for p in paths.values())
        return {identity: Name(path) for identity, path in paths.items()}

    def below(self, container, arrays):
        """Those arrays, of {identity: array}, that are below a container."""
        seen, level = set(), [self._containers[container]]
        while level and len(seen) < MAX_BELOW and own.monotonic() < self._deadline:
            below = gc.get_referents(*level)
            level = [r for r in below if id(r) not in seen and not issubclass(type(r), NOT_BELOW)]
            seen.update(map(id, level))
        return [arrays[i] for i in seen.intersection(arrays)]
