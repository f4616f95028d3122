"""What lived at one moment, by which later ones tell what was made late."""

import itertools

from gpumem_agent import atomic
from gpumem_agent.frameworks import sites_of
from gpumem_agent.holders import living
from gpumem_agent.own import own

MAX_NOTED = 200000


class Register:
    """The arrays and the large containers that lived at one moment."""

    partial = False  # whether it is only of those that the program has names for

    def __init__(self, noted, lengths, classes=None):
        self.noted = noted  # {identity: weak reference}
        self._lengths = lengths  # {identity: elements}
        self.classes = classes or {}  # {key of a type: objects}
        self.classes_since = own.monotonic() if classes else None  # when these were counted
        self.generators = None  # weak references to those that stood still then, where all were asked
        self.sites = None  # live bytes by site at that moment, when noted
        self.beside = None  # {identity: weak reference} of arrays of the host: see hostarrays
        self.met = {}  # keys of dictionaries when first met, at that moment or later: see siblings

    @classmethod
    def of(cls, frameworks):
        """All that lives now, on a program's own thread. How many objects classes have is noted by
        a look that needs it: to count them takes as long again."""
        noted, lengths, generators = living.all_at_once([kind for f in frameworks for kind in f.kinds()])
        for framework in frameworks:
            if framework.untracked_kinds():
                noted.update(living.references((), framework.untracked_kinds()))
            noted.update(framework.listed())
        noted = dict(itertools.islice(noted.items(), MAX_NOTED))
        if not any(f.active() for f in frameworks):
            lengths = {**untracked(), **lengths}
        register = cls(noted, lengths)
        register.generators = generators
        return register

    def note_sites(self, frameworks):
        """Also notes the sites, where the frameworks record them."""
        self.sites = sites_of([f for f in frameworks if f.active()])

    def has_outputs(self, frameworks):
        """Whether autograd made any of the arrays."""
        return living.has_outputs(frameworks, self.noted)

    def is_late(self, identity, reference):
        """Whether an object was made after that moment. Its weak reference is
        the same as long as it lives, and no other object's."""
        return self.noted.get(identity) is not reference

    def growth(self, identity, length):
        """Elements that a container gained since that moment."""
        return length - self._lengths.get(identity, 0)

    def note_classes(self, census, when):
        """Notes how many objects classes had at a moment, which may be another one."""
        self.classes, self.classes_since = census, when

    def of_class(self, key):
        """Objects that a class had at that moment, by the class's key."""
        return self.classes.get(key, 0)


def untracked():
    """{identity: elements} of the large containers below the program's names. The
    collector does not track dictionaries of strings, numbers and bytes alone."""
    if not atomic.POSSIBLE:
        return {}
    # Here, because the survey of a program on a device does not need it.
    from gpumem_agent.holders.downward import Reach

    return Reach(()).containers()
