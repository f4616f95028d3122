"""What the program's names reach: from its modules, its classes and the
variables of its running functions down to arrays and large containers.

This is how holders are found while the program runs. It is one atomic look (see
there) that notes identities and who refers to whom; only then, for the few
chains that lead to something late, are the objects fetched again from their
name on, and what is not there any more is left out. So nothing is held that the
program is making, or about to give up, for more than the moment of its naming.
"""

import collections
import functools
import gc
import itertools
import types

from gpumem_agent import atomic
from gpumem_agent.holders.following import Following
from gpumem_agent.holders.kinds import RANKS, Contexts, TypeTeller, module_names, rank_of
from gpumem_agent.holders.levels import BOUND, MOST, SIZED, Level
from gpumem_agent.holders.living import SOME, noted
from gpumem_agent.holders.local import Local
from gpumem_agent.holders.paths import Name, Path
from gpumem_agent.holders.roots import LEAVES, namespaces, ours
from gpumem_agent.holders.variables import Variables, local, now, pick
from gpumem_agent.own import own
from gpumem_agent.sampling import paused

LEVELS = 12  # references between a name and what is found
HOOKS = 4  # more, where modules have modules: what a hook of an inner one has is as far
DEEPER = 36  # further ones, where modules have modules: each of these is three away
# Levels of a first try, for each rank, where modules have modules: to prepare all of them takes as long as
# a small look.
SHALLOW = (28, 7, 7)
DEEP = (None,) * len(RANKS)  # all
CALLED = (types.FunctionType, *BOUND)  # a hook, and what it closes over
WAYS = 16  # to some of many objects, that are compared
PARTED = 0.75  # of these, that must go the same way
TRIES = 6  # to name what was reached
PAUSE = 0.001  # seconds before the second of these, for the program to go on; then twice as long


class Reach:
    """One look. The kinds are the types of arrays, subclasses included, and nested those of
    objects that have each other for parts: below the levels that all objects are followed
    for, they, containers, hooks and what has these are. Contexts are weak references to those of
    contextvars, and to generators. Hidden is what no collector sees: see frameworks. Singles are
    the types of further objects that are noted. An inner look passes over the arrays that names
    themselves refer to: a variable may be what an object has."""

    def __init__(self, kinds, nested=(), hidden=((), None), singles=(), contexts=(), inner=False):
        self._modules = module_names()
        self._contexts, self._weak_contexts = Contexts(), list(contexts)
        self._roots = namespaces(self._modules) + [self._contexts]
        self._teller = TypeTeller()
        parts = self._teller.family((*nested, dict, *SIZED, *CALLED)) if nested else None
        self._hidden = atomic.keys(hidden[0]), hidden[1]
        singles = self._teller.family(singles)
        arrays = self._teller.family(k for k in kinds if k.__weakrefoffset__)
        self._places, self._inner = {}, inner  # of an array or a container, by identity: its place
        for depths in (SHALLOW, DEEP) if nested else (DEEP,):
            atomic.without_collections(functools.partial(self._search, depths, parts, singles, arrays))
            if not any(search.is_cut for search in self._searches):
                break

    def _search(self, depths, parts, singles, arrays):
        """Looks so many levels deep for each rank."""
        self._variables = Variables()
        self._searches = [_Search(self._teller, parts, self._hidden, singles, most) for most in depths]
        self._look(arrays)

    def _look(self, arrays):
        variables, ranks = self._variables, []
        skip = self._teller.family((type,)) | self._teller.these((*LEAVES, *ours()))
        seen = dict.fromkeys((*self._modules, id(self._roots), id(vars(self))), -1)
        steps = [*variables.steps(), atomic.fill(self._contexts, map(atomic.call, self._weak_contexts))]
        known = {identity: rank_of(code) for identity, code in variables.readable.items()}
        steps.append(atomic.fill(ranks, map(known.__getitem__, map(id, variables.codes))))
        # What a well-known name reaches is not looked for below the others.
        for rank, search in zip(RANKS, self._searches):
            roots = self._roots if rank == RANKS[0] else []
            if roots or rank in known.values():
                kinds = arrays, skip, (set(), skip | arrays) if self._inner else (arrays, skip)
                steps.extend(search.steps(roots, variables, ranks, rank, *kinds, seen))
        steps.extend(level.done() for search in self._searches for level in search.levels)
        atomic.once(*steps, atomic.empty(variables.values, (self._contexts,)))
        for search, number in self._levels():
            search.levels[number].forget_types()

    @property
    def complete(self):
        """Whether nothing that can be reached was left out, but what is far below its name
        and part of no container."""
        cut = any(len(s.levels[n].places) >= MOST for s, n in self._levels())
        return not cut and not any(search.is_cut for search in self._searches)

    def _levels(self):
        """All, those below the best known names first: (search, number)."""
        return [(s, n) for s in self._searches for n in range(len(s.levels))]

    def arrays(self):
        """{identity: weak reference} of the arrays that were reached."""
        found = {}
        for search, number in self._levels():
            level = search.levels[number]
            for place, reference in zip(level.arrays, level.references):
                identity = level.identities[place]
                if found.setdefault(identity, reference) is reference:
                    self._places.setdefault(identity, (search, number, place))
        return found

    def containers(self):
        """{identity: elements} of the containers that were reached; see noted."""
        found, places = {}, {}
        for search, number in self._levels():
            level = search.levels[number]
            for place, length in zip(level.containers, level.lengths):
                identity = level.identities[place]
                if identity in self._modules:
                    continue  # a module's names, which its functions refer to
                if length >= SOME:  # a tuple grows as little as it is held alone
                    found.setdefault(identity, length)
                    places.setdefault(identity, (search, number, place))
        found = noted(found.items())
        for identity in found:
            self._places.setdefault(identity, places[identity])
        return found

    def singles(self):
        """{identity: the key of its type} of the single objects that were reached."""
        found = {}
        for search, number in self._levels():
            level = search.levels[number]
            for place, kind in zip(level.singles, level.single_kinds):
                found.setdefault(level.identities[place], kind)
                self._places.setdefault(level.identities[place], (search, number, place))
        return found

    def has(self, identity):
        """Whether an object is an array or a container that was reached."""
        return identity in self._places

    def chain(self, identity):
        """Identities of the objects from the one that a name refers to down to
        an array or container that was reached."""
        search, number, place = self._places[identity]
        return search.chain(number, place)

    def paths(self, identities, arrays=()):
        """{identity: Path} of arrays or containers that are still where they
        were, or in whose place there is another one of some types by now. A Path holds the
        objects on it."""
        chains = {i: (self.head(i), self.chain(i)) for i in identities}
        values = pick({chain[0] for _, chain in chains.values()})
        gone = {head for head, chain in chains.values() if type(head) is Local and chain[0] not in values}
        following = Following(values, now(gone), atomic.keys(SIZED), self._hidden, arrays, self._places)
        # All first: to name one may give objects on others a __dict__.
        found = {i: following.objects(head, chain) for i, (head, chain) in chains.items()}
        return {i: Path(o, self._modules) for i, o in found.items() if o is not None}

    def weak_root(self, identity):
        """The weak reference to a context or a generator at the head of a chain, or None."""
        return next((weak for weak in self._weak_contexts if id(weak()) == identity), None)

    def named(self, identities, look_at=Name, arrays=()):
        """{identity: Name} of what is still where it was; see paths. A coroutine or a generator
        shows its variables only while it does not run, so what has no name now may have one a
        moment later."""
        found, missing = {}, list(identities)
        for attempt in range(TRIES):
            if attempt:
                own.sleep(PAUSE * 2 ** (attempt - 1))
            found.update(self._named_now(missing, look_at, arrays))
            missing = [i for i in missing if i not in found]
            if not missing:
                break
        return found

    def _named_now(self, identities, look_at, arrays):
        """The objects on the way are held for as long as this takes, and nobody else runs
        meanwhile: other threads that wait for the interpreter's lock began to do so when we
        last gave it up."""
        with paused():
            own.sleep(0)
            self._contexts.extend(filter(None, (weak() for weak in self._weak_contexts)))
            try:
                paths = self.paths(identities, arrays)
                found = {identity: look_at(path) for identity, path in paths.items()}
                paths.clear()
            finally:
                self._contexts.clear()
        return found

    def above(self, wanted):
        """Identities of what most of some objects are below, from a name on: to where
        their ways part, or to the first of them on the way."""
        most, ways = 0, []
        for search, number in self._levels():
            hits = map(wanted.__contains__, search.levels[number].identities)
            places = list(itertools.compress(itertools.count(), hits))
            if len(places) >= max(most, 1):
                most = len(places)
                some = places[:: max(1, most // WAYS)]
                ways = [(search, search._way(number, place)) for place in some]
        return self._parting(wanted, ways)

    def deepest(self, wanted):
        """Identities of those of some objects that were reached, the furthest from a name first."""
        levels = sorted(self._levels(), key=lambda level: -level[1])
        each = itertools.chain.from_iterable(search.levels[number].identities for search, number in levels)
        return list(filter(wanted.__contains__, each))

    def _parting(self, wanted, ways):
        found, depth, least = [], 0, PARTED * len(ways)
        while ways:
            steps = collections.Counter(way[depth] for _, way in ways if depth < len(way))
            step, number = steps.most_common(1)[0] if steps else (None, 0)
            if not number or number < least:
                break
            ways = [pair for pair in ways if depth < len(pair[1]) and pair[1][depth] == step]
            search = ways[0][0]
            identity = search.levels[step[0]].identities[step[1]]
            self._places.setdefault(identity, (search, *step))
            found.append(identity)
            if identity in wanted:
                break
            depth += 1
        return found

    def head(self, identity):
        """What the first object of a chain is a variable of."""
        search, number, place = self._places[identity]
        group, at = search.head(number, place)
        if group < len(search.roots):
            return search.roots[group]
        function = search.functions[group - len(search.roots)]
        codes = self._variables.codes
        calls = sum(code is codes[function] for code in codes)
        return local(codes[function], self._variables.names[function][at], calls)


class _Search:
    """What is below the names of one rank, level by level."""

    def __init__(self, teller, parts, hidden, singles, most=None):
        self._kinds, self._getter = hidden
        deep = [parts] * DEEPER if parts else []
        near = [None] * (LEVELS - 1 + HOOKS if parts else LEVELS)
        self._hooked = set() if parts else None  # identities of what hooks are of
        self.levels = [Level(teller, followed, singles, self._hooked) for followed in (near + deep)[:most]]
        self.roots = []
        self.functions = []  # places of the functions among those that were read

    def steps(self, roots, variables, ranks, rank, arrays, skip, of_names, seen):
        """Steps that search below roots and the variables of functions of a rank. Of names are
        arrays and what is skipped among what these refer to themselves."""
        self.roots = roots
        chosen = map(rank.__eq__, ranks)
        yield atomic.fill(self.functions, itertools.compress(itertools.count(), chosen))
        yield self.functions.reverse  # the outermost first: it runs on, whoever runs now
        values = map(variables.values.__getitem__, self.functions)
        groups = itertools.chain(map(gc.get_referents, roots), values)
        turns = itertools.count(rank * (LEVELS + HOOKS + DEEPER))
        wanted = itertools.chain((of_names,), itertools.repeat((arrays, skip)))
        for level, kinds, turn in zip(self.levels, wanted, turns):
            yield from level.steps(groups, *kinds, seen, turn)
            groups = map(gc.get_referents, level.followed)
            if self._hooked is not None:
                yield level.note_hooked(self._hooked)
            if self._kinds:
                yield from level.hide(self._kinds, self._getter)
                groups = itertools.chain(groups, map(list, zip(map(self._getter, level.hiding))))

    @property
    def is_cut(self):
        """Whether the last level has something that is to be followed."""
        return bool(self.levels[-1].places)

    def chain(self, number, place):
        """Identities of the objects from level 0 down to a place."""
        return [self.levels[n].identities[p] for n, p in self._way(number, place)]

    def head(self, number, place):
        """The group of level 0 that leads to a place, and the place in that."""
        _, first = self._way(number, place)[0]
        return self.levels[0].group(first)

    def _way(self, number, place):
        way = [(number, place)]
        while number > 0:
            group, _ = self.levels[number].group(place)
            number, place = number - 1, self.levels[number - 1].places[group]
            way.append((number, place))
        way.reverse()
        return way
