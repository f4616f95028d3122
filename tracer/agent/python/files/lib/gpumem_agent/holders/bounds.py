"""A bound that the program gives a container in its own words: near the line that adds to
it another one compares how much it has with the most that it may have, and then something
is taken out of it, or only then something is put in.

Like all that is read in the text of the program it is the usual forms that are known, and
no others; the numbers are those that the objects have at the look.
"""

import functools
import os
import re
import sys

from gpumem_agent.holders.kinds import NAMES_OF_CLASS, is_a, namespace, owns
from gpumem_agent.holders.texts import BEFORE, BEHIND, DEF, LONGEST, indent, read

BLOCK = 6  # lines below a comparison
MOST_NUMBERS = 200
FULL = 1.05  # of the bound: one of bytes is known by the mean of the elements
LONGER, MORE_FILLED, ALMOST_FULL = 1.5, 1.1, 0.9  # see without
MOST = r"[\w.]+(?:\s*(?:<<|\*)\s*[\w.]+)?"  # a number, in the program's words
COMPARES = re.compile(
    r"\s*(?:while|if|elif)\s+(?P<has>len\(\s*[\w.]+\s*\)|[\w.]+)\s*(?P<sign>>=?|<=?)"
    r"\s*(?P<most>%s)\s*:(?P<then>.*)" % MOST
)
# One thing where there is room, and another where there is none.
CHOOSES = (
    r"(?P<then>.*)\bif\s+len\(\s*(?:\w+\.)*%(name)s\s*\)\s*(?P<sign>>=?|<=?)\s*(?P<most>"
    + MOST
    + r")\s+else\b(?P<other>.*)"
)
# A part of it is kept, the last or the first so many.
CUTS = (
    r"\b%(name)s\s*(?:\[\s*:\s*\]\s*)?=(?!=).*\b%(name)s\b(?:.*\))?\s*"
    r"\[\s*(?:-\s*(?P<last>[\w.]+)\s*:|:\s*(?P<first>[\w.]+))\s*\]"
    r"|\bdel\s+(?:\w+\.)*%(name)s\[\s*(?::\s*-\s*(?P<but>[\w.]+)|(?P<from>[\w.]+)\s*:)\s*\]"
    # Of numbered entries the one of so many numbers ago is taken out.
    r"|\b%(name)s\.pop\(\s*[\w.]+\s*-\s*(?P<ago>[\w.]+)\s*[,)]"
    r"|\bdel\s+(?:\w+\.)*%(name)s\[\s*[\w.]+\s*-\s*(?P<before>[\w.]+)\s*\]"
)
TAKES_OUT = (
    r"\b%(name)s\.(?:popitem|popleft|pop|clear|remove|discard)\s*\(|\bdel\s+(?:\w+\.)*%(name)s\s*\["
    r"|\bheap(?:pop|replace|pushpop)\(\s*(?:\w+\.)*%(name)s\b"
)

HEAPS = re.compile(r"\bheap(?:replace|pushpop)\b")  # of what, a bracket behind the choice says


def numbers_of(chain, at, modules):
    """{name: number} that the program's lines may compare: attributes of the object that has
    the container at a place of a chain, of its class and of the module. The modules are
    those of kinds.module_names."""
    if at < 1:
        return {}
    owner = chain[at - 1]
    if type(owner) is dict and at > 1 and owns(chain[at - 2], owner):
        owner = chain[at - 2]
    if type(owner) is dict:  # a module's names
        return _numbers(owner) if id(owner) in modules else {}
    kind = owner if is_a(owner, type) else type(owner)
    module = sys.modules.get(NAMES_OF_CLASS(kind).get("__module__", ""))
    found = _numbers(namespace(module)) if module is not None else {}
    for base in reversed(type.__dict__["__mro__"].__get__(kind)):
        found.update(_numbers(NAMES_OF_CLASS(base)))
    found.update(_numbers(namespace(owner)))
    return found


def _numbers(names):
    found = [(k, v) for k, v in list(names.items()) if type(v) is int and type(k) is str]
    return dict(found[:MOST_NUMBERS])


def bound(entry, name, numbers):
    """How many elements a holder's container can have by the lines around those that fill
    it; None where these say nothing, or what no memory would hold."""
    length, size, count = entry.get("length", 0), entry["bytes"], entry["count"]
    if not length or not count:
        return None
    for site in entry.get("filled", "").split("; "):
        for has, most, room in _compared(site, name):
            limit, now = _value(most, numbers), length if has is None else numbers.get(has, 0)
            if limit is None or now <= 0 or room and now != length:  # it counts something else
                continue
            elements = length * limit // now
            if length <= elements * FULL and elements * size / count < _memory():
                return max(elements, length)
    return None


def without(found, told, known):
    """Takes the bound from holders that have got much longer since they were told, while no more of it was filled:
    what the program counts is not what they have. Known are the paths of such, to which it adds."""
    before = {entry["path"]: entry for entry in told}
    for entry in found:
        if "bound" in entry and _moves(before.get(entry["path"], {}), entry):
            known.add(entry["path"])
        if entry["path"] in known:
            entry.pop("bound", None)


def _moves(before, entry):
    """Whether a bound moves on with what it is to bound."""
    if not before.get("bound") or not before.get("length") or not entry.get("length"):
        return False
    filled, was = entry["length"] / entry["bound"], before["length"] / before["bound"]
    return entry["length"] >= LONGER * before["length"] and filled <= MORE_FILLED * was and filled < ALMOST_FULL


@functools.lru_cache(maxsize=64)  # each look asks again
def _compared(site, name):
    """What the lines around a site, as "file:line function", compare: what there is (None for
    the number of elements, else an attribute), the most that there may be, and whether
    something is put in only where there is less."""
    place = site.rpartition(" ")[0]
    file, _, number = place.rpartition(":")
    lines = read(file).splitlines()
    if not number.isdigit() or not 0 < int(number) <= len(lines):
        return ()
    at = int(number) - 1
    first, last = at, at
    while first > max(0, at - BEFORE) and not DEF.match(lines[first - 1]):
        first -= 1
    while last + 1 < min(len(lines), at + BEHIND + 1) and not DEF.match(lines[last + 1]):
        last += 1
    return tuple(filter(None, (_comparison(lines, i, at, name) for i in range(first, last + 1))))


def _comparison(lines, i, at, name):
    """What a line compares, where it bounds what has a name and is filled at a line."""
    line = lines[i].partition("#")[0] if len(lines[i]) <= LONGEST else ""
    found = COMPARES.match(line)
    if found is None:
        most = _cut(line, name) or (_chosen(line, name) if i == at else None)
        return most and (None, most, False)
    has, block = found.group("has"), _block(lines, i)
    counts = re.match(r"len\(\s*(?:\w+\.)*%s\s*\)$" % re.escape(name), has)
    attribute, room = has.rpartition(".")[2], found.group("sign").startswith("<")
    text = "\n".join((found.group("then"), *(lines[n] for n in block)))
    if room and not (at in block or at == i):
        return None
    if not room and not re.search(TAKES_OUT % {"name": re.escape(name)}, text):
        return None
    if counts:
        return None, found.group("most"), room
    counted = attribute.isidentifier() and re.search(r"\b%s\s*\%s=" % (attribute, "-+"[room]), text)
    return (attribute, found.group("most"), room) if counted else None


def _cut(line, name):
    """How much of what has a name a line keeps; None of another line."""
    found = re.search(CUTS % {"name": re.escape(name)}, line)
    return found and next(filter(None, found.groups()))


def _chosen(line, name):
    """How much there may be of what a line adds to as long as there is room, and else takes
    something out of, or leaves as it is. None of another line."""
    found = re.match(CHOOSES % {"name": re.escape(name)}, line)
    if found is None:
        return None
    full = found.group("other" if found.group("sign").startswith("<") else "then")
    replaces = re.search(TAKES_OUT % {"name": re.escape(name)}, full) or HEAPS.search(full)
    return found.group("most") if replaces or not re.search(r"\b%s\b" % re.escape(name), full) else None


def _block(lines, i):
    """The numbers of the lines below one that are deeper than it."""
    depth, found = indent(lines[i]), []
    for n in range(i + 1, min(len(lines), i + 1 + BLOCK)):
        if lines[n].strip() and indent(lines[n]) <= depth:
            break
        found.append(n)
    return found


def _value(text, numbers):
    """The number that a text of the program stands for; None where it is not known."""
    parts = re.split(r"\s*(<<|\*)\s*", text)
    plain = [p.replace("_", "") for p in parts[::2]]
    named = [numbers.get(p.rpartition(".")[2]) for p in parts[::2]]
    values = [int(p) if p.isdigit() else known for p, known in zip(plain, named)]
    if None in values or min(values) <= 0:
        return None
    if len(values) == 1:
        return values[0]
    return values[0] * values[1] if parts[1] == "*" else values[0] << min(values[1], 62)


def _memory():
    """Bytes that the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 1 << 40
