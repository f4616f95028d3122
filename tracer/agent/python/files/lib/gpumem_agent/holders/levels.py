"""One level of a look: what is so many references away from the names where the look begins."""

import bisect
import functools
import gc
import itertools
import operator
import types
import weakref

from gpumem_agent import atomic
from gpumem_agent.holders.kinds import CELL
from gpumem_agent.holders.living import GROWING

MOST = 20000  # objects of a level that are followed
ELEMENTS = 100000  # in all of them together, as far as they have a length
SIZED = GROWING + (tuple, frozenset)
BOUND = (types.MethodType, functools.partial, CELL)  # hooks that refer to what they are of
TURN = 1 << 40  # more than the objects of a level


class Level:
    """What is so many references away from a name, each object once, and only what no level
    before has. Objects come in groups, one for each object that refers to them. Their types are as
    a TypeTeller tells them."""

    def __init__(self, teller, parts, singles=(), hooked=()):
        self._teller = teller
        self._hooked = hooked  # identities of objects that are followed besides
        self._single_kinds = singles  # the types of objects that are noted
        self._parts = parts  # the types that alone are followed; None for all
        self.identities = []  # of the objects
        self._origins = []  # for each, its place among the objects of all groups
        self._ends = []  # where each group ends among these
        self.places = []  # of those that are followed to the next level
        self.followed = []  # these themselves, in the course of the look
        self.hiding = []  # those that are followed once more, for what no collector sees
        self.arrays, self.references = [], []  # places and weak references
        self.singles, self.single_kinds = [], []  # places and the keys of their types
        self.containers, self.lengths = [], []  # places and elements
        self._groups, self._objects, self._kinds = [], [], []

    def group(self, place):
        """The group of the object at a place, and the place in that."""
        origin = self._origins[place]
        group = bisect.bisect_right(self._ends, origin)
        return group, origin - (self._ends[group - 1] if group else 0)

    def steps(self, groups, arrays, skip, seen, turn):
        """Steps that take in the objects of groups, and choose among them."""
        objects, kinds, counted = self._objects, self._kinds, self._teller.these(SIZED)
        return (
            atomic.fill(self._groups, groups),
            atomic.fill(self._ends, itertools.accumulate(map(len, self._groups))),
            *self._take(skip - arrays - self._single_kinds - counted, seen, turn),
            atomic.fill(kinds, self._teller.of(objects)),
            atomic.fill(self.arrays, self._of(arrays, itertools.count())),
            atomic.fill(self.references, map(weakref.ref, self._of(arrays, objects))),
            atomic.fill(self.singles, self._of(self._single_kinds, itertools.count())),
            atomic.fill(self.single_kinds, atomic.types_of(self._of(self._single_kinds, objects))),
            atomic.fill(self.containers, self._of(counted, itertools.count())),
            atomic.fill(self.lengths, map(len, self._of(counted, objects))),
            *self._follow(skip),
        )

    def _take(self, left_out, seen, turn):
        """Steps that take in what is new, of types that are not left out: most of what
        objects refer to are numbers, texts and classes. Seen are numbers by identity: an
        object is new where it gets its own."""
        every, some, identities, kept, new, origins = [], [], [], [], [], []
        numbers = functools.partial(itertools.count, turn * TURN)
        own = map(seen.setdefault, identities, numbers())
        return (
            atomic.fill(every, atomic.each(self._groups)),
            atomic.fill(kept, map(operator.not_, atomic.among(self._teller.of(every), left_out))),
            atomic.fill(some, itertools.compress(every, kept)),
            atomic.fill(origins, itertools.compress(itertools.count(), kept)),
            atomic.fill(identities, map(id, some)),
            atomic.fill(new, map(operator.eq, own, numbers())),
            atomic.fill(self._objects, itertools.compress(some, new)),
            atomic.fill(self._origins, itertools.compress(origins, new)),
            atomic.fill(self.identities, itertools.compress(identities, new)),
            atomic.empty((every, some, identities, kept, new, origins)),
        )

    def _of(self, kinds, items):
        """Those items whose objects are of some kinds."""
        return itertools.compress(items, atomic.among(self._kinds, kinds))

    def _follow(self, skip):
        """Steps that choose what is followed, as long as there are not too many."""
        identities, lengths, chosen, large = self.identities, self.lengths, [], set()
        short = map(operator.mul, lengths, map(ELEMENTS.__ge__, lengths))
        full = map(ELEMENTS.__lt__, itertools.accumulate(short))
        not_now = map(operator.or_, full, map(ELEMENTS.__lt__, lengths))
        not_now = map(operator.or_, not_now, map(operator.not_, lengths))  # or empty
        places = map(identities.__getitem__, itertools.compress(self.containers, not_now))
        wanted = atomic.neither(atomic.among(self._kinds, skip), atomic.among(identities, large))
        if self._parts is not None:
            hooked = atomic.among(identities, self._hooked)
            is_part = map(operator.or_, atomic.among(self._kinds, self._parts), hooked)
            wanted = map(operator.and_, wanted, is_part)
        return (
            functools.partial(large.update, places),
            atomic.fill(chosen, wanted),
            atomic.fill(self.places, _first(itertools.compress(itertools.count(), chosen))),
            atomic.fill(self.followed, _first(itertools.compress(self._objects, chosen))),
        )

    def note_hooked(self, hooked):
        """The step that notes the identities of what the hooks that are followed are of."""
        are_hooks = atomic.among(self._teller.of(self.followed), self._teller.these(BOUND))
        hooks = itertools.compress(self.followed, are_hooks)
        return functools.partial(hooked.update, map(id, itertools.chain.from_iterable(map(gc.get_referents, hooks))))

    def hide(self, kinds, getter):
        """Steps that choose what is followed once more, by keys of types, and note its places again."""
        chosen, kept, places, objects, again = [], [], [], [], []
        return (
            atomic.fill(chosen, atomic.among(atomic.types_of(self.followed), kinds)),
            atomic.fill(places, itertools.compress(self.places, chosen)),
            atomic.fill(objects, itertools.compress(self.followed, chosen)),
            atomic.fill(kept, map(operator.is_not, map(getter, objects), itertools.repeat(None))),
            atomic.fill(again, itertools.compress(places, kept)),
            atomic.fill(self.hiding, itertools.compress(objects, kept)),
            atomic.fill(self.places, again),
            atomic.empty((objects,)),
        )

    def done(self):
        """The step that lets go of the objects."""
        return atomic.empty(self._groups, (self._groups, self._objects, self.followed, self.hiding, self._kinds))

    def forget_types(self):
        """After the look: a class of the program's is not to live for as long as what was found."""
        self._parts = self._single_kinds = None


def _first(items):
    return itertools.islice(items, MOST)
