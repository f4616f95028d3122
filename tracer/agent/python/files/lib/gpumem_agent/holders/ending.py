"""Who holds the arrays that were made late and still live, at a program's end."""

import collections
import gc

from gpumem_agent import atomic
from gpumem_agent.holders.contents import alone
from gpumem_agent.frameworks.sources import sources
from gpumem_agent.holders import garbage, living, rings
from gpumem_agent.holders.kinds import module_names
from gpumem_agent.holders.naming import Holders, grown, late, matter, sized, state_of
from gpumem_agent.holders.upward import Upwards, Walk
from gpumem_agent.own import own

MUCH_GARBAGE = 1000  # objects, from which it is looked for where nobody collects it
CLIMB_SECONDS = 1.5  # for that
CLIMBED, WEIGHED = 16, 500  # of these: from which is climbed, and which are weighed
DEEP = 10  # references, from which a name is looked for from above
MOSTLY = 0.5  # of a holder's arrays, that have one other name by now
OLDER = 32  # outputs of autograd that were there before, and are looked at


def find(process, deadline, kept=None):
    """record.Holder objects, most bytes first, of a program that has come to
    its end and stands still. Kept are some arrays of the holders that were told before, by path."""
    frameworks = sources(process.frameworks)
    arrays = living.arrays(frameworks)
    recent = late(arrays, process.survivors)
    finder = _finder(frameworks, deadline)
    holders = Holders(deadline, finder, getattr(process.survivors, "met", None))
    holders.state = state_of(arrays)
    if garbage.is_off() and process.survivors is not None:
        if not atomic.POSSIBLE or not garbage.add(holders, process.survivors, frameworks):
            _add_garbage(holders, Walk(min(deadline, own.monotonic() + CLIMB_SECONDS)), recent)
    holders.name(recent)
    holders.name_views(arrays)
    holders.native = _native(frameworks, arrays, holders.nameless)
    _go_on(holders, recent, kept or {})
    older = _older_outputs(holders, finder, arrays, recent)
    claimed = _add_graphs(holders, arrays, older + recent, deadline)
    holders.add_nameless(claimed)
    on_device = any(f.active() for f in process.frameworks)
    if not on_device and process.survivors is not None:
        told = {a.identity for a in arrays}
        _add_containers(holders, process.survivors, frameworks, deadline, told)
    return holders.listed()


def _go_on(holders, arrays, kept):
    """Tells what a holder that was told before still has by the name that it had then: when the
    function has returned whose variable it was, what is left refers to itself, and the name of
    one object among many says less."""
    now = {a.identity: a for a in arrays}
    for path, some in kept.items():
        left = [i for i, weak in some.items() if i in now and now[i].reference is weak]
        names = collections.Counter(holders.path_of.get(i) for i in left)
        name, number = names.most_common(1)[0] if names else (None, 0)
        if name in holders.found and path not in holders.found and number > MOSTLY * len(some):
            holders.facts.pop(name, None)  # of that object
            holders.move(name, path)


def _finder(frameworks, deadline):
    """What finds names above arrays; with modules in modules from above first."""
    finder = Upwards(deadline)
    if not atomic.POSSIBLE or not any(f.nested() for f in frameworks):
        return finder
    return _Both(frameworks, finder)


class _Both:
    """Names what is far below its name from there, where a climb takes too long, and all
    else by climbing."""

    climbs = True

    def __init__(self, frameworks, upwards):
        self._frameworks, self._upwards = frameworks, upwards
        self._reach = self._downwards = None  # from the first question on
        self._found = set()  # containers, by identity, of what was named from above

    @property
    def complete(self):
        return self._upwards.complete

    def names(self, arrays):
        self._look()
        deep = [a for a in arrays if self._is_deep(a.identity)]
        found = self._downwards.names(deep) if deep else {}
        self._found.update(name.container for name in found.values())
        rest = [a for a in arrays if a.identity not in found]
        if rest:
            found.update(self._upwards.names(rest))
        return found

    def below(self, container, arrays):
        if container not in self._found:
            return self._upwards.below(container, arrays)
        deep = {i: a for i, a in arrays.items() if self._is_deep(i)}
        return self._downwards.below(container, deep)

    def _look(self):
        if self._reach is None:
            # Here, because most programs do not need it.
            from gpumem_agent.holders.running import Downwards, reached

            self._reach = reached(self._frameworks)
            self._reach.arrays()
            self._downwards = Downwards(self._reach)

    def _is_deep(self, identity):
        return self._reach.has(identity) and len(self._reach.chain(identity)) > DEEP


def _native(frameworks, arrays, nameless):
    """{identity of an array: what keeps it} out of the collector's sight."""
    kept = {}
    for framework in frameworks if nameless else ():
        own = [a.alive() for a in arrays if a.framework is framework]
        kept.update(framework.kept_natively([o for o in own if o is not None]))
    return kept


def _older_outputs(holders, finder, arrays, recent):
    """Outputs of autograd that have a name and are no later than the register, such as
    a total that each step adds to: what is nameless may be what their graphs keep."""
    if not holders.nameless:
        return []
    late_ones, older = {a.identity for a in recent}, []
    for array in arrays:
        item = None if array.identity in late_ones else array.alive()
        if item is not None and array.framework.is_output(item):
            older.append(array)
        del item
    older = older[-OLDER:]
    names = finder.names(older)
    holders.path_of.update((identity, name.text) for identity, name in names.items())
    holders.facts.update((name.text, name.facts) for name in names.values())
    return [a for a in older if a.identity in names]


def _add_graphs(holders, arrays, recent, deadline):
    """Adds what only autograd graphs keep, under the outputs that keep them.
    Returns the keys of the storages that are charged with it."""
    nameless = {a.key for a in holders.nameless}
    visible = {a.key[1] for a in arrays if a.key not in nameless}
    before = set(visible)
    for framework in {id(a.framework): a.framework for a in recent}.values():
        outputs = [a.alive() for a in recent if a.framework is framework]
        # Outputs with a name first: what they keep is theirs.
        outputs.sort(key=lambda o: id(o) not in holders.path_of)
        for output, size, word in framework.graphs(outputs, visible, deadline):
            path = holders.path_of.get(id(output), type(output).__name__)
            known = holders.facts.get(path, {})
            facts = {key: known[key] for key in ("filled", "assigned", "kind") if known.get(key)}
            text = "%s: autograd graph of %s outputs" % (path, word)
            holders.add(text, size, 1, facts)
    return visible - before


def _add_containers(holders, register, frameworks, deadline, told):
    """Names containers that gained most elements: the host's own leaks."""
    lengths = {} if register.partial else living.containers()
    reach = None
    if atomic.POSSIBLE:
        # Here, because a program on a device does not need them.
        from gpumem_agent.holders import classes, running
        from gpumem_agent.holders.downward import Reach

        reach = Reach(())
        running.add_containers(holders, reach, register, lengths, told=told)
    gains = grown(lengths, register)
    walk = Walk(deadline)
    found = living.find(gains)
    walk.climb(list(found.values()))
    paths = walk.paths()
    heavy = [(i, sized(paths[i], gains[i], told=told)) for i in found if i in paths]
    for _, entry in matter([pair for pair in heavy if pair[1] is not None]):
        holders.add_elements(*entry)
    if reach is not None:
        classes.add(holders, reach, register, living.census()[0], frameworks)


def _add_garbage(holders, walk, recent):
    """Names objects that nothing but each other refers to, in a program that turned its
    collector off, with the recent arrays among them. Some of them stand for all."""
    young = gc.get_objects(generation=0)
    if len(young) < MUCH_GARBAGE:
        return
    some = young[:: len(young) // CLIMBED]
    walk.climb([item for item in some if gc.is_tracked(item)])
    named = walk.paths()
    lost = [item for item in some if id(item) not in named]
    if not walk.complete or not lost:
        return
    # A class of the program's says more than the dictionaries of its objects.
    kinds = collections.Counter(type(item) for item in lost)
    own = [k for k in kinds if k.__flags__ & garbage.HEAP_TYPE] or list(kinds)
    kind = max(own, key=kinds.get)
    weights = list(map(alone, young[:: max(1, len(young) // WEIGHED)]))
    count = len(young) * len(lost) // len(some)
    young_ones = set(map(id, young))
    below = sum(a.size for a in recent if a.identity in young_ones)
    size = int(count * (sum(weights) / len(weights) + below / len(young)))
    ring = rings.through([item for item in lost if type(item) is kind], garbage.is_followed(set(module_names())))
    holders.add(garbage.PATH % (kind.__name__, ring), size, count, {"kind": "reference-cycle"})
