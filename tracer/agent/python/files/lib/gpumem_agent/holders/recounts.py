"""What the holders of the last look have come to since.

A look goes through all that the program's names reach, which is dear where that is much:
a program that brings in large libraries is looked at once or twice in a minute. But a
container that was told is found again by the objects that led to it, from the variable or
the module where its name is, and how long it has become costs nothing to ask. So between
looks the holders are told anew when one got longer. What each further element has is taken
from those that the look found, and nothing is held from one time to the next.
"""

import sys

from gpumem_agent import atomic
from gpumem_agent.holders.bounds import FULL
from gpumem_agent.holders.downward import PAUSE, TRIES
from gpumem_agent.holders.following import child
from gpumem_agent.holders.kinds import Contexts, is_a, namespace
from gpumem_agent.holders.living import GROWING
from gpumem_agent.holders.local import Local
from gpumem_agent.holders.variables import pick
from gpumem_agent.own import own
from gpumem_agent.sampling import paused

MOST = 16  # holders that are followed
LARGE = 10000  # elements of a container on the way, beyond which nobody goes through it


class Way:
    """The way to the container of a holder, without its objects."""

    __slots__ = ("chain", "module", "generator", "length", "gained", "first")

    def __init__(self, chain, module, generator, length, gained):
        self.chain = chain  # identities, from the object that a name refers to on
        self.module = module  # that has the name; None where it is a function's variable
        self.generator = generator  # a weak reference to it, where it is none's either
        self.length = length  # elements at the look
        self.gained = gained  # of these, since the moment that the look compared with
        self.first = None  # identities of some that were there then


def ways(reach, reference, told, places, path_of):
    """{path: Way} of some told holders that are one container each. path_of has the paths of
    arrays by their identities: a short container is known by what is below it."""
    found, below = {}, {path: identity for identity, path in path_of.items()}
    for entry in told:
        containers = places.get(entry["path"], ())
        if len(containers) != 1 or not entry.get("length") or len(found) == MOST:
            continue
        (identity,) = containers
        gained = reference.growth(identity, entry["length"])
        known = identity if reach.has(identity) else below.get(entry["path"])
        chain = reach.chain(known) if reach.has(known) else []
        if gained <= 0 or identity not in chain:
            continue
        head = reach.head(known)
        module = head.get("__name__") if type(head) is dict else None
        generator = reach.weak_root(chain[0]) if type(head) is Contexts else None
        if type(head) is Local or isinstance(module, str) or generator is not None:
            chain = chain[: chain.index(identity) + 1]
            found[entry["path"]] = Way(chain, module, generator, entry["length"], gained)
    for path, (_, first) in _asked(found).items():
        found[path].first = first
    return found


def _asked(followed):
    """{path: (elements, identities of the first one and of one in the middle)}. Which variables
    of a generator are seen depends on whether it stands still or runs, so it is tried again."""
    found = {}
    for attempt in range(TRIES):
        missing = {path: way for path, way in followed.items() if path not in found}
        if attempt:
            missing = {p: way for p, way in missing.items() if way.module is None}
            own.sleep(PAUSE * 2 ** (attempt - 1) if missing else 0)
        if not missing:
            break
        found.update(_asked_once(missing))
    return found


def _asked_once(followed):
    with paused():
        own.sleep(0)  # nobody else runs meanwhile
        values = pick({i for way in followed.values() if way.module is None for i in way.chain[:2]})
        found = {path: _facts(_container(way, values), way.length) for path, way in followed.items()}
        values.clear()
    return {path: facts for path, facts in found.items() if facts is not None}


def _container(way, values):
    """The container at the end of a way. A generator's variables are a running function's
    while it runs: the way begins with them then."""
    item, rest = _start(way, values), way.chain[1:]
    if way.module is None and rest and rest[0] in values:
        item, rest = values[rest[0]], rest[1:]
    for identity in rest:
        if item is None or is_a(item, GROWING) and _kind(item).__len__(item) > LARGE:
            return None
        item = _below(item, identity)
    return item if is_a(item, GROWING) else None


def _start(way, values):
    if way.module is not None:
        return _named(way)
    return values.get(way.chain[0]) if way.generator is None else way.generator()


def _below(item, identity):
    """What an object refers to. To name it may have made a dictionary of its attributes."""
    referred = atomic.referents(item)
    found = child(referred, identity)
    if found is None:
        names = next((each for each in referred if type(each) is dict and len(each) <= LARGE), {})
        found = child(list(names.values()), identity)
    return found


def _facts(container, length):
    if container is None:
        return None
    kind = _kind(container)  # what a class of the program's has by these names is not asked
    number, first = kind.__len__(container), [id(next(kind.__iter__(container), None))]
    if kind is list and number >= length:
        first.append(id(list.__getitem__(container, length // 2)))
    return number, first


def _kind(container):
    """The interpreter's own type of a container."""
    return next(kind for kind in GROWING if is_a(container, kind))


def _named(way):
    """The object of a module's name."""
    module = sys.modules.get(way.module)
    return None if module is None else child(list(namespace(module).values()), way.chain[0])


def asked_again(told, followed, now, since):
    """Told holders as they are now, by path, as far as they are known: those that became longer
    with what came, and others with the time in which nothing did, once that is as long as it took
    to come. One that is emptied and filled again is as long as it is by chance. since is the
    moment that they were compared with, on the clock of now."""
    after, current = {}, _asked(followed)
    for entry in told:
        way, (length, first) = followed.get(entry["path"]), current.get(entry["path"], (None, None))
        if length is None or length > way.length and first != way.first:
            continue
        over = {"over_ms": round(1000 * (now - since), 3)}
        if length <= way.length and over["over_ms"] < 2 * entry.get("over_ms", 0):
            continue
        if length > way.length:
            times = 1 + (length - way.length) / way.gained
            bytes_, count = int(entry["bytes"] * times), int(entry["count"] * times)
            over.update(length=length, bytes=bytes_, count=count)
        told = after[entry["path"]] = {**entry, **over}
        if told.get("bound", length) * FULL < length:
            del told["bound"]  # more than there can be
    return after
