"""Which arrays and which large containers live now."""

import collections
import functools
import gc
import itertools
import operator
import sys
import types
import weakref

from gpumem_agent import atomic
from gpumem_agent.frameworks import Key
from gpumem_agent.holders.kinds import LRU_CACHE, TypeTeller, is_library, namespace
from gpumem_agent.own import own
from gpumem_agent.sampling import paused

GROWING = (
    *(list, dict, set, collections.deque),
    *(collections.OrderedDict, collections.defaultdict, collections.Counter),
)
SOME = 16  # elements from which a container is noted
FEW_AROUND = 3  # and of one around such, up to which it is not told in its place
LARGE = 1000  # and from which it is large, whatever its elements take
MOST_OUTPUTS = 5000  # arrays that are asked whether autograd made them
MOST_NOTED = 50000  # containers; beyond these only the large ones are noted
MOST_GENERATORS = 100
GENERATORS = (types.GeneratorType,)
AGENT = __name__.partition(".")[0]  # the name of the package
TURN = 0.002  # seconds of work in one turn; see arrays


def references(kinds, untracked=(), every=atomic.everything):
    """{identity: weak reference} of the objects of some types that live, also of
    their subclasses; every is the step that lists objects. Of types that the collector does
    not track, exactly these are found where tracked objects refer to them, which takes ten
    times as long."""
    teller = TypeTeller()
    tracked, leaves = teller.family(_referable(kinds)), teller.these(_referable(untracked))
    box, below, found, keys, weak = [], [], [], [], []
    steps = [every(box)]
    if tracked:
        steps.append(_choose(found, teller, tracked, atomic.each(box), atomic.each(box)))
    if leaves:
        asked = itertools.compress(atomic.each(box), atomic.no_modules(atomic.each(box)))
        steps.append(atomic.fill(below, atomic.each(map(gc.get_referents, asked))))
        steps.append(_choose(found, teller, leaves, below, below))
    steps.append(atomic.fill(keys, map(atomic.key, found)))
    steps.append(atomic.fill(weak, map(weakref.ref, found)))
    if tracked or leaves:
        atomic.once(*steps, atomic.empty(box, (below, found)))
    return dict(zip(atomic.identities(keys), weak))


def _referable(kinds):
    """The types that have weak references to their objects."""
    return [k for k in kinds if k.__weakrefoffset__]


def _choose(found, teller, kinds, items, same_items):
    """A step that adds the items of some kinds, as a TypeTeller tells them."""
    chosen = atomic.among(teller.of(same_items), kinds)
    return atomic.fill(found, itertools.compress(items, chosen))


def outnumbers(inner, outer, of_hooks=False):
    """Whether a container has many elements, and the one around it hardly more than that one: of the
    handlers of a log there are one or two, which keep what is logged. Modules stay as many as they
    are, so that the hooks of one, which are more than the modules around it, are told in place of these."""
    if type(inner) not in GROWING or type(outer) not in GROWING:
        return False
    return len(outer) <= FEW_AROUND and len(inner) >= SOME or of_hooks and len(inner) > len(outer)


class Array:
    """A live array, as its framework describes it. It is not kept alive."""

    __slots__ = ("identity", "reference", "kind", "key", "size", "group", "shown", "framework", "stands_for")

    def __init__(self, identity, reference, kind, described, framework):
        self.identity = identity
        self.reference = reference
        self.kind = kind  # its type's name
        key, self.size, self.group, *shown = described
        self.shown = shown[0] if shown else self.size  # bytes: of a view less than it keeps
        self.key = key if type(key) is Key else (framework.name, key)
        self.framework = framework
        self.stands_for = 1.0  # arrays: more than itself where there was no time for all

    def alive(self):
        """The array, or None."""
        return self.framework.alive(self.reference)


def arrays(frameworks, deadline=None):
    """All live arrays of the frameworks."""
    found = []
    for framework in frameworks:
        live = references(framework.kinds(), framework.untracked_kinds())
        live.update(framework.listed())
        found.extend(described(live, framework, deadline))
    return found


def described(live, framework, deadline=None, kinds=(), gone=None, asked=None):
    """The Arrays among {identity: weak reference}, when given of these kinds
    alone. The identities of those that live no more are added to gone, and all that there
    was time for to asked. Work is done in turns, each begun right after a wait for the
    interpreter's lock: nobody then asks for it back before the turn is over,
    while an array is held."""
    found, end = [], 0.0
    for identity, reference in live.items():
        now = own.monotonic()
        if now > end:
            if deadline is not None and now > deadline:
                break
            own.sleep(0)
            end = own.monotonic() + TURN
        if asked is not None:
            asked.add(identity)
        item = framework.alive(reference)
        told = None
        if item is not None and (not kinds or issubclass(type(item), kinds)):
            told = framework.describe(item)
        if item is None and gone is not None:
            gone.add(identity)
        if told is not None:
            found.append(Array(identity, reference, type(item).__name__, told, framework))
        del item
    return found


def has_outputs(frameworks, arrays):
    """Whether autograd made any of some arrays by their identities, of which some are asked."""
    for framework in (f for f in frameworks if f.keeps_graphs):
        for reference in itertools.islice(arrays.values(), MOST_OUTPUTS):
            array = framework.alive(reference)
            is_output = array is not None and framework.has_graph(array)
            del array
            if is_output:
                return True
    return False


def all_at_once(kinds):
    """What references answers of some types that the collector tracks, {identity: elements} of the
    lists, dictionaries, sets and deques (see noted), and what generators answers, in one look: to
    list all objects and to ask their types is most of each. What all may be of is asked once, and
    which of these it is of the few that are any."""
    teller = TypeTeller()
    tracked, sizable, suspended = teller.family(_referable(kinds)), teller.these(GROWING), teller.these(GENERATORS)
    lists = tuple([] for _ in range(13))
    box, any_kind, of_any, found, keys, weak, sized, lengths, some, sized_keys, sizes, standing, weak_standing = lists

    def chosen(kinds):
        return itertools.compress(any_kind, atomic.among(of_any, kinds))

    atomic.once(
        atomic.everything(box),
        _choose(any_kind, teller, tracked | sizable | suspended, atomic.each(box), atomic.each(box)),
        atomic.fill(of_any, teller.of(any_kind)),
        atomic.fill(found, chosen(tracked)),
        atomic.fill(keys, map(atomic.key, found)),
        atomic.fill(weak, map(weakref.ref, found)),
        atomic.fill(sized, chosen(sizable)),
        atomic.fill(lengths, map(len, sized)),
        atomic.fill(some, map(SOME.__le__, lengths)),
        atomic.fill(sized_keys, map(atomic.key, itertools.compress(sized, some))),
        atomic.fill(sizes, itertools.compress(lengths, some)),
        atomic.fill(standing, chosen(suspended)),
        atomic.fill(weak_standing, map(weakref.ref, standing)),
        atomic.empty(box, (any_kind, found, sized, standing)),
    )
    own = set(map(atomic.key, lists))
    lengths = noted((key, n) for key, n in zip(sized_keys, sizes) if key not in own)
    lengths = dict(zip(atomic.identities(lengths), lengths.values()))
    return dict(zip(atomic.identities(keys), weak)), lengths, _suspended(weak_standing)


def containers():
    """{identity: elements} of the lists, dictionaries, sets and deques that the
    collector tracks; see noted. Without what the agent's functions remember."""
    own = set(_remembered())
    return {i: n for i, n in all_at_once(())[1].items() if i not in own}


def _remembered():
    """Identities of the dictionaries of the agent's own caches."""
    for name, module in list(sys.modules.items()):
        if name.startswith(AGENT):
            for item in list(namespace(module).values()):
                if type(item) is LRU_CACHE:
                    yield from map(id, gc.get_referents(item))


def census(*kinds):
    """({key of a type: its objects} of types that have SOME or more of those that the
    collector tracks, weak references to the objects of each of some kinds...)."""
    teller, box, found = TypeTeller(), [], {}
    chosen, weak = [[] for _ in kinds], [[] for _ in kinds]
    atomic.once(
        atomic.everything(box),
        functools.partial(collections._count_elements, found, teller.of(atomic.each(box))),
        *itertools.chain.from_iterable(_of_kind(kind, box, *lists) for kind, *lists in zip(kinds, chosen, weak)),
        atomic.empty(box, chosen),
    )
    return ({teller.key(mark): number for mark, number in found.items() if number >= SOME}, *weak)


def generators():
    """Weak references to the program's generators that stand between two values. One that
    only a loop goes through is in no variable."""
    return _suspended(of_kind(types.GeneratorType))


def of_kind(kind):
    """Weak references to the objects of exactly one kind."""
    box, chosen, weak = [], [], []
    atomic.once(atomic.everything(box), *_of_kind(kind, box, chosen, weak), atomic.empty(box, (chosen,)))
    return weak


def census_and_generators(*kinds):
    """What census and generators answer, in one look at all objects, with weak references to the
    objects of further kinds behind the generators."""
    found, weak, *others = census(types.GeneratorType, *kinds)
    return found, [*_suspended(weak), *itertools.chain.from_iterable(others)]


def _of_kind(kind, box, chosen, weak):
    """Steps that add weak references to the objects of exactly one kind."""
    is_one = map(operator.is_, map(type, atomic.each(box)), itertools.repeat(kind))
    return (
        atomic.fill(chosen, itertools.compress(atomic.each(box), is_one)),
        atomic.fill(weak, map(weakref.ref, chosen)),
    )


def _suspended(weak):
    """Those of some weak references to generators whose generator is the program's, and stands still."""
    with paused():
        own.sleep(0)
        some = [(reference, _suspended_at(reference())) for reference in weak[:MOST_GENERATORS]]
    # Whose file it is may be asked of the system, when none is held any more.
    return [reference for reference, code in some if code is not None and not is_library(code.co_filename)]


def _suspended_at(generator):
    """The code of a generator that stands still; None of one that runs or has ended."""
    return None if generator is None or generator.gi_running else generator.gi_code


def noted(pairs):
    """{identity or key: elements} of containers from SOME elements on; where these are too
    many, of the large ones alone."""
    found = {i: n for i, n in pairs if n >= SOME}
    if len(found) <= MOST_NOTED:
        return found
    return {i: n for i, n in found.items() if n >= LARGE}


def find(identities):
    """{identity: object} of those that the collector tracks. The caller keeps
    them alive: for a program that has come to its end."""
    box, found = [], []
    chosen = atomic.among(map(atomic.key, atomic.each(box)), set(atomic.keys_of(identities)))
    atomic.once(
        atomic.everything(box),
        atomic.fill(found, itertools.compress(atomic.each(box), chosen)),
        atomic.empty(box),
    )
    return {id(item): item for item in found}
