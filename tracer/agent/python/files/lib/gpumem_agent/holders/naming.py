"""From arrays with their names to a list of holders: bytes and counts by path."""

import collections
import itertools
import sys

from gpumem_agent.holders import contents, cycles, memos, states, takers
from gpumem_agent.holders.bounds import bound
from gpumem_agent.holders.fillers import ADDERS, Filler, name_of, named, own_sites, places
from gpumem_agent.holders.kinds import is_a, owns
from gpumem_agent.holders.living import GROWING, LARGE, SOME
from gpumem_agent.holders.siblings import Siblings, is_below
from gpumem_agent.own import own

MAX_NAMED = 64  # arrays whose referrers are walked at a time
LOST = 3  # rounds without a name, after which what is left of a group has none
PER_GROUP = 8  # of these, for each shape, when there are more
ALMOST = 0.9  # of the arrays that all elements of a holder would have
WITH_LINES = 5  # holders whose lines are looked for
FEW = 4  # elements that a container must have gained to be weighed
CONTAINERS = 10  # growing containers named when no array explains the growth
PARAMETER, PLAIN = "Parameter", "Tensor"  # kinds of arrays: a model's, and copies of these
VIEW = 0.25  # of what arrays keep, up to which they show little of it
WEIGHTY = 1 << 20  # bytes that a few elements must take to be told
FORMS = "is_dictionary", "by_object", "of_things"  # what a path says of its container, told to nobody


def with_gone(found, told):
    """What was found at the end, and what was told while the program ran and
    has been given up since; most bytes first. Beside a device nobody looks at the end
    for what the host holds."""
    left, known = {entry["path"] for entry in found}, {e["path"]: e for e in told}
    for entry in found:
        before = known.get(entry["path"], {})
        if before.get("shown_part"):  # at the end what a view is of lives as an object of its own
            entry["shown_part"] = before["shown_part"]
        for key in ("filled", "kind"):
            if key in before:
                entry.setdefault(key, before[key])
    lost = [e for e in told if e["path"] not in left and not is_below(e["path"], left)]
    word = " (gone at the end)"
    lost = [entry if entry.get("host") else dict(entry, path=entry["path"] + word) for entry in lost]
    return sorted(found + lost, key=lambda entry: -entry["bytes"])


def late(arrays, register):
    """One array for each storage that was made late; views add nothing."""
    found, keys = {}, set()
    for array in arrays:
        if register is not None and not register.is_late(array.identity, array.reference):
            keys.add(array.key)
    for array in arrays:
        if array.key not in keys:
            first = found.setdefault(array.key, array)
            first.shown = max(first.shown, array.shown)
    return list(found.values())


def state_of(arrays):
    """Groups of the parameters among some arrays."""
    return {a.group for a in arrays if a.kind == PARAMETER}


class Holders:
    """Holders by path. A finder tells names: upward.Upwards
    or running.Downwards. Met are keys of dictionaries: see siblings."""

    def __init__(self, deadline, finder, met=None):
        self.native = {}  # identity: what keeps an array
        self.state = set()  # groups of the model's parameters; see state_of
        self.deadline = deadline
        self._finder = finder
        self.found = {}  # path: [bytes, count]
        self.facts = {}  # path: further keys of record.Holder
        self._groups = {}  # path of plain containers: {group: arrays}
        self._lengths = {}  # path: {identity of a container: elements}
        self._siblings = Siblings({} if met is None else met)
        self._inside = set()  # identities of containers that another one is told for
        self.path_of = {}  # identity of a counted array: its path
        self._counted = set()
        self._elements = None  # {path: arrays that count as elements}
        self._nameless = []  # arrays that no path leads to, and why

    def name(self, arrays):
        """Names the holders of arrays. Some are walked up from; what else their
        containers hold is counted along; then some of the rest, in time."""
        by_identity = {a.identity: a for a in arrays}
        left, lost = arrays, {}
        while left and (left is arrays or own.monotonic() < self.deadline):
            chosen = _representatives(left)
            self._name_some(chosen, by_identity)
            left = [a for a in left if a.identity not in self._counted]
            if self._finder.climbs:
                left = self._without_lost(chosen, left, lost)
        self._put_together(by_identity)

    def _without_lost(self, chosen, left, lost):
        """Arrays without those of a group of which none had a name for some rounds: to climb from
        thousands would take all the time, and what they are views of is found from the views."""
        named = {a.group for a in chosen if a.identity in self.path_of}
        for group in {a.group for a in chosen}:
            lost[group] = 0 if group in named else lost.get(group, 0) + 1
        rest = [a for a in left if lost.get(a.group, 0) >= LOST]
        self._counted.update(a.identity for a in rest)
        self._nameless.extend((a, self._finder.complete) for a in rest)
        return [a for a in left if lost.get(a.group, 0) < LOST]

    def _put_together(self, arrays):
        """Tells dictionaries in place of their entries; see siblings."""
        together = {old: new for old, new in self._siblings.together().items() if old in self.found}
        for old, (path, entry) in together.items():
            self.add(path, *self.found.pop(old), entry.facts)
            self.facts.pop(old, None)
            self._groups.pop(old, None)
            self._inside.update(self._lengths.pop(old, {}))
            self._lengths.setdefault(path, {})[entry.identity] = entry.facts.get("length", 0)
            if entry.is_plain:
                self._groups.setdefault(path, {})
        for identity, path in self.path_of.items():
            if path in together and identity in arrays:
                self.path_of[identity] = together[path][0]
                self._note_group(arrays[identity])

    def _name_some(self, chosen, by_identity):
        names = self._finder.names(chosen)
        texts = _texts(names.values())
        for array in chosen:
            if array.identity in names:
                self._count(texts[names[array.identity]], array)
            else:
                self._counted.add(array.identity)
                self._nameless.append((array, self._finder.complete))
        for name in names.values():
            if name.is_plain:
                self._groups.setdefault(texts[name], {})
            self._siblings.note(texts[name], name.entries)
        self._note_facts((texts[n], n) for n in names.values())
        for array in chosen:
            self._note_group(array)
        for container, text in _containers(names.values(), texts) if len(chosen) < len(by_identity) else ():
            for array in self._finder.below(container, by_identity):
                if self._count(text, array):
                    self._note_group(array)

    def scale(self, arrays):
        """Counts arrays that stand for others for these as well, in holders of several. What
        comes of it is rounded: it is an estimate."""
        for path, standing in self._by_path(arrays).items():
            count = sum(array.stands_for for array in standing)
            if len(standing) >= SOME and count > len(standing):
                whole = sum(array.size * array.stands_for for array in standing)
                times = whole / max(1, sum(array.size for array in standing)), count / len(standing)
                self.found[path] = [_about(n * by) for n, by in zip(self.found[path], times)]

    def note_views(self, arrays):
        """Notes of holders of several arrays how little these show of what they keep: a row of
        a batch keeps the batch."""
        for path, some in self._by_path(arrays).items():
            size = sum(array.size for array in some)
            part = sum(min(array.size, array.shown) for array in some) / max(1, size)
            if len(some) >= FEW and part <= VIEW:
                self.facts[path] = {**self.facts.get(path, {}), "shown_part": round(part, 4)}

    def _by_path(self, arrays):
        """{path: arrays} of those that are counted."""
        some = {}
        for array in arrays:
            path = self.path_of.get(array.identity)
            if path in self.found:
                some.setdefault(path, []).append(array)
        return some

    def name_views(self, arrays):
        """Names arrays without a path by a view of theirs that has one: a view keeps the
        whole storage, and what it is a view of is out of the collector's sight."""
        for pick in (iter, reversed):  # the youngest view of each, and then the oldest
            lost = {a.key for a in self.nameless}
            chosen = {a.key: a for a in pick(arrays) if a.key in lost and a.identity not in self._counted}
            if not chosen or own.monotonic() > self.deadline:
                return
            before = self._nameless
            self.name(list(chosen.values()))
            named = {key for key, a in chosen.items() if a.identity in self.path_of}
            self._nameless = [(a, whole) for a, whole in before if a.key not in named]

    def _note_facts(self, named):
        """Notes what is known of paths. Of containers that have one name between them, such
        as those of a model's layers, the elements are added up."""
        for text, name in named:
            lengths = self._lengths.setdefault(text, {})
            lengths[name.container] = name.facts.get("length", 0)
            self.facts[text] = dict(name.facts)
            if len(lengths) > 1 and sum(lengths.values()) and "bound" not in name.facts:
                self.facts[text]["length"] = sum(lengths.values())

    def place(self, path, container):
        """Notes a container that was found in another way than from its arrays."""
        self._lengths.setdefault(path, {}).setdefault(container, 0)

    def named(self):
        """Identities of the containers that were named."""
        return self._inside.union(*self._lengths.values())

    def take(self, path, other, facts):
        """Takes a holder of others over, with further facts."""
        self.add(path, *other.found[path], {**other.facts.get(path, {}), **facts})
        self._lengths[path] = dict(other._lengths.get(path, {}))
        self.path_of.update((i, p) for i, p in other.path_of.items() if p == path)

    def move(self, path, other):
        """Counts for another path what one has."""
        facts, lengths = self.facts.pop(path, {}), self._lengths.pop(path, {})
        self.facts.setdefault(other, facts)
        self._lengths.setdefault(other, lengths)
        self.path_of.update((i, other) for i, p in self.path_of.items() if p == path)
        self.add(other, *self.found.pop(path))

    def places(self):
        """{path: identities of the containers that have it}."""
        return {path: set(lengths) - {None} for path, lengths in self._lengths.items()}

    @property
    def nameless(self):
        return [array for array, _ in self._nameless]

    def add_nameless(self, claimed):
        """Adds the arrays without a path, but those with a claimed key."""
        for array, complete in self._nameless:
            if array.key[1] not in claimed:
                word = self._word_for(array, complete)
                facts = {"filled": (Filler(word, "", True),)} if word in ADDERS else None
                self.add(word, array.size, 1, facts)

    def _word_for(self, array, complete):
        """What to call the holder of an array that no path leads to."""
        if array.identity in self.native:
            return self.native[array.identity]
        kind = array.kind
        if complete:
            return "%s %s: a reference cycle or native code" % (kind, array.group)
        return "%s %s: not found in time" % (kind, array.group)

    def _count(self, path, array):
        if array.identity not in self._counted:
            self._counted.add(array.identity)
            self.path_of[array.identity] = path
            self.add(path, array.size, 1)
            return True
        return False

    def _note_group(self, array):
        groups = self._groups.get(self.path_of.get(array.identity))
        if groups is not None:
            name = array.group if array.kind == PLAIN else array.kind
            groups[name] = groups.get(name, 0) + 1

    def _is_state(self, path):
        """Whether what a container holds are copies of a model's state: arrays that have
        the shapes of all its parameters, and no others."""
        groups = self._groups.get(path, {})
        return len(self.state) > 1 and self.state == set(groups) and min(groups.values()) > 1

    def add(self, path, size, count, facts=None):
        if facts:
            self.facts[path] = facts
        entry = self.found.setdefault(path, [0, 0])
        entry[0] += size
        entry[1] += count

    def add_elements(self, path, size, count, facts):
        """Adds what the elements of a container take beside the arrays that it is told for:
        these are elements, too."""
        if self._elements is None:
            self._elements = dict(collections.Counter(self.path_of.values()))
        known = self._elements.get(path, 0)
        self._elements[path] = max(known - count, 0)
        self.add(path, size, max(count - known, 0), facts)

    def listed(self):
        entries = [
            {"path": path, "bytes": size, "count": count, **self.facts.get(path, {})}
            for path, (size, count) in self.found.items()
        ]
        entries.sort(key=lambda e: (-e["bytes"], -e["count"], e["path"]))
        for place, entry in enumerate(entries):
            asked = [entry.pop(key, None) for key in ("filled", "assigned")]
            numbers, parts = entry.pop("numbers", {}), entry.pop("parts", 0)
            is_dictionary, by_object, of_things = (entry.pop(key, False) for key in FORMS)
            if ": autograd graph of " in entry["path"]:
                asked.reverse()  # it hangs on what was assigned last
            asked = asked if place < WITH_LINES else ()
            filled = next((found for found in asked if found and places(found)), None)
            lines = places(filled) if filled else []
            if "kind" not in entry and self._is_state(entry["path"]):
                entry["kind"] = "snapshots-kept"
            if lines and "kind" not in entry:
                entry.update(memos.kind_of(entry["path"], own_sites(filled), is_dictionary, of_things))
            if by_object:
                entry.setdefault("kind", memos.BY_OBJECT)
            is_open = entry.get("kind") in (None, memos.REGISTER, memos.ASKED_FOR)  # old states are taken out as well
            of_many = parts >= states.LEAST or _is_of_many(entry)
            of_some = of_many or parts > 1 or _is_of_many(entry, 2)
            if lines and is_open and (
                of_many and states.keeps_state(lines[0]) or of_some and states.keeps_weights(lines[0])
            ):
                entry["kind"] = "snapshots-kept"
            if lines:
                entry["filled"] = "; ".join(lines)
                most = bound(entry, name_of(filled), numbers)
                if most:
                    entry["bound"] = most
                elif entry.get("length") and entry.get("kind") != memos.GROUPS_ADDED:  # the groups are no state
                    own = own_sites(filled)
                    entry.update(takers.told(*named(filled), own) if own else takers.of_path(entry["path"], lines))
        return entries


def _about(number):
    """A number with the two digits of it that an estimate knows."""
    return int(float("%.1e" % number))


def _is_of_many(entry, least=states.LEAST):
    """Whether each element of a holder has as many arrays as a state has, or so many, but for some that were there
    before."""
    return entry["count"] >= ALMOST * least * max(1, entry.get("length", entry["count"]))


def _representatives(arrays):
    """All arrays when they are few; else some of each group, those groups
    first that hold most."""
    if len(arrays) <= MAX_NAMED:
        return list(arrays)
    groups = {}
    for array in arrays:
        groups.setdefault(array.group, []).append(array)
    ordered = sorted(groups.values(), key=lambda g: -sum(a.size for a in g))
    share = max(PER_GROUP, MAX_NAMED // len(ordered))
    chosen = [a for group in ordered for a in group[-share:]]
    return chosen[:MAX_NAMED]


def _containers(names, texts):
    """Pairs of a container and the text for what else is in it, the inner ones first. In one
    of modules that is what is in none of these: it has no further steps in common."""
    names = [n for n in names if n.container is not None]
    found = {n.container: n.of_container if n.of_modules else texts[n] for n in names}
    inner = {n.container: len(n.of_container) for n in names}
    return sorted(found.items(), key=lambda pair: -inner[pair[0]])


def _texts(names):
    """{name: text}. Where elements of one container differ in their further
    steps, the container's name stands for all of them."""
    by_container = {}
    for name in names:
        by_container.setdefault(name.container, set()).add(name.text)
    texts = {}
    for name in names:
        mixed = name.container is not None and len(by_container[name.container]) > 1
        texts[name] = name.of_container if mixed else name.text
    return texts


def grown(lengths, register):
    """{identity: elements gained} of the containers that gained most: large numbers,
    and some that may be weighty."""
    gains = {i: register.growth(i, length) for i, length in lengths.items()}
    most = sorted((i for i in gains if gains[i] >= FEW), key=gains.get, reverse=True)
    large = [i for i in most if gains[i] >= LARGE]
    return {i: gains[i] for i in large[:CONTAINERS] + most[len(large) :][:CONTAINERS]}


def matter(told):
    """Those pairs of an identity and what sized says of it, of which there are many or that
    are heavy, all below one object together: the lists of a dictionary may each be small."""
    sums, parents = {}, [facts.pop("below") for _, (_, _, _, facts) in told]
    for parent, (_, (_, size, count, _)) in zip(parents, told):
        before = sums.get(parent, (0, 0))
        sums[parent] = before[0] + size, before[1] + count
    kept = {parent for parent, (size, count) in sums.items() if count >= LARGE or size >= WEIGHTY}
    return [pair for parent, pair in zip(parents, told) if parent in kept]


def _is_attributes(path):
    """Whether the container at the end of a path is what an object has its attributes in."""
    return len(path.chain) > 1 and owns(path.chain[-2], path.chain[-1])


def sized(path, count, times=1, told=(), wholes=None):
    """(name, bytes, count, facts) of so many elements of the container at the end of
    a path, and of so many such containers, or None where these are few of a kind that does
    not grow. The bytes are an estimate from some of them, what they alone refer to, and the container
    itself, without arrays that are told."""
    container = path.chain[-1]
    if count < LARGE and (not is_a(container, GROWING) or _is_attributes(path)):
        return None
    each = sys.getsizeof(container) / max(1, len(container))
    for elements in (container, container.values()) if is_a(container, dict) else (container,):
        some = [contents.size(item, told) for item in itertools.islice(elements, 100)]
        each += sum(some) / max(1, len(some))  # it may have been emptied meanwhile
    each += contents.deeper(container, told, wholes)
    count = int(count * times)
    # A module's names, and a function's, are no container of the program's.
    below = id(path.chain[-2]) if len(path.chain) > 2 else id(container)
    facts = path.facts()
    if "bound" not in facts and type(path.container) in GROWING and path.container is not container:
        facts.pop("length", None)  # of what has this one and others
    if facts.get("kind") == "results-kept/cycle" and not cycles.keeps(path.chain):
        facts = {key: facts[key] for key in facts if key not in ("kind", "filled")}
    return path.of_kind(), int(count * each), count, {**facts, "below": below}
