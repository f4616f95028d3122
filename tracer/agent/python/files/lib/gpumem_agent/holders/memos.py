"""What a line that fills a dictionary or a deque makes of it. A cache: it adds what it has worked
out for a key when the dictionary has none, to look it up the next time. A session for each key: it puts back
what it took from there before. Or a register of what is open: another line takes single entries
out of it again, of a list as well. A deque or a list of which another line takes single
elements, at its other end, is a queue, and so is a heap. Where the same function lets go of them
under a condition it is a buffer whose bound is never reached.

Like all that is read in the text of the program it is the usual form that is known, and
no other.
"""

import functools
import itertools
import re

from gpumem_agent.holders.takers import gives_way
from gpumem_agent.holders.texts import LONGEST, above, below, code, line_of, search

REGISTER = "entries-left"  # what is open, and taken out again on some paths only
ASKED_FOR = REGISTER + "/asked-for"  # objects that another line finds by their keys again, or goes through
BY_OBJECT = REGISTER + "/objects"  # which keeps the objects that it is for
REPLACED = REGISTER + "/replaced"  # of an optimizer's state, of parameters that were replaced
GROUPS_ADDED = "optimizer-groups-added"
UNREACHED = "buffer-without-bound/unreached"  # a line would let go of elements
STATES = re.compile(r"defaultdict .*\.state$")  # a path
DICTIONARY = re.compile(r"(?:dict|OrderedDict|defaultdict) [^:]*$")  # a path
# What begins a group or a count, to which more is added.
BEGINNING = re.compile(
    r"(?:\[\s*\]|\{\s*\}|\(\s*\)|[\w.]*(?:list|dict|set|deque|Counter)\(.*\)|[\d.]+)\s*$"
)
FILLED = re.compile(r"\b(\w+)\[(.+)\]\s*=(?!=)\s*(.*)")
# What is made at once where there is none yet; what begins a group is none.
ASKED = re.compile(r"(?:=|\breturn\b)\s*(?:\w+\.)*\w+\.setdefault\s*\(.+?,\s*((?:\w+\.)*[A-Za-z_]\w*\(.*\))\s*\)\s*$")
# What adds an entry that is filled later.
FIRST = re.compile(r"\b(\w+)\.setdefault\s*\(")
UPDATED = re.compile(r"\b(\w+)\.update\s*\(")
STATED = re.compile(r"\.state\[.+\]\s*=(?!=)")
GROUPS = re.compile(r"\.add_param_group\s*\(")
ADDED = re.compile(r"\b(\w+)\.(append|appendleft)\s*\(")
# At the other end.
TAKEN = {"append": r"\b%s\.(?:popleft\s*\(|pop\s*\(\s*0\s*\))", "appendleft": r"\b%s\.pop\s*\("}
PUSHED = re.compile(r"\bheappush\s*\(\s*(?:\w+\.)*(\w+)\s*,")
TIMED = re.compile(r"_*(?:call_(?:later|at|soon)|(?:\w+_)?timers?|enter(?:abs)?|alarms?|timetable|schedule\w*)$")
POPPED = r"\bheappop\s*\(\s*(?:\w+\.)*%s\s*\)"
# What lets go of one there, and looks at none.
TRIMMED = {
    "append": r"^\s*(?:(?:\w+\.)*%(name)s\.(?:popleft\s*\(|pop\s*\(\s*0\s*\))|del\s+(?:\w+\.)*%(name)s\[)",
    "appendleft": r"^\s*(?:\w+\.)*%(name)s\.pop\s*\(",
}
CONDITION = re.compile(r"\s*(?:if|while)\b")
# Out of a list: one element, or all but those that are wanted still.
REMOVED = r"\b%(name)s\.remove\s*\(|\bdel\b[^#]*\b%(name)s\[(?![^\]]*:)"
REMOVED += r"|\b%(name)s(?:\[:\])?\s*=\s*\[.*\bin\s+(?:\w+\.)*%(name)s\s+if\b"
FOUND = r"\b%(name)s\.(?:get|values|items)\s*\(|\b%(name)s\[[^\]]*\](?!\s*=(?!=))"
TAKEN_OUT = r"\bdel\b[^#]*\b%(name)s\[|\b%(name)s(?:\[[^\]]*\])?\.pop\s*\("


def kind_of(path, sites, is_dictionary=False, of_things=False):
    """{"kind": what the lines at some sites make of the container with a path that they fill}, or {}. Of
    things is a dictionary or a set that has objects of the program's own classes."""
    if any(map(adds_groups, sites)):
        return {"kind": GROUPS_ADDED}
    if STATES.match(path) and any(map(states, sites)):
        return {"kind": REPLACED}
    if is_dictionary or DICTIONARY.match(path):
        if any(map(remembers, sites)):
            return {"kind": "cache-without-bound"}
        if any(map(carries_on, sites)):
            return {"kind": "sessions-kept"}
        if any(map(registers, sites)):
            return {"kind": REGISTER}
        return {"kind": ASKED_FOR} if of_things and any(map(asks_for, sites)) else {}
    if of_things and path.startswith("set "):
        return {"kind": "sessions-kept"}  # who is there, and told to have left: a set has no order to come back to
    if path.startswith(("deque ", "list ")) and any(map(trims, sites)):
        return {"kind": UNREACHED}
    if path.startswith(("deque ", "list ")) and any(map(queues, sites)):
        return {"kind": "timers-left" if any(map(times, sites)) else "unbounded-queue"}
    return {"kind": REGISTER} if path.startswith("list ") and any(map(removes, sites)) else {}


@functools.lru_cache(maxsize=64)  # each look asks again
def adds_groups(site):
    """Whether the line of a site adds to what an optimizer works on, whatever name that has."""
    return _matches(site, GROUPS)


@functools.lru_cache(maxsize=64)  # each look asks again
def states(site):
    """Whether the line of a site gives an optimizer the state of a parameter."""
    return _matches(site, STATED)


def _matches(site, form):
    _, lines, at = line_of(site)
    return bool(lines) and len(lines[at]) <= LONGEST and form.search(code(lines[at])) is not None


@functools.lru_cache(maxsize=64)  # each look asks again
def remembers(site):
    """Whether the line of a site, as "file:line function", is one of a cache. By the name that
    the dictionary has there: a variable, an attribute."""
    _, lines, at = line_of(site)
    line = code(lines[at]) if lines else ""
    if len(line) > LONGEST:
        return False
    asked = ASKED.search(line)
    if asked is not None:
        return not BEGINNING.match(asked.group(1))
    updated, filled = UPDATED.search(line), FILLED.search(line)
    if updated is not None:
        return _updates(updated.group(1), lines, at)
    if filled is None or BEGINNING.match(filled.group(3)):
        return False
    name = filled.group(1)
    key, value = _of_key(filled.group(2)), re.escape(filled.group(3).strip())
    # Whatever it has behind the bracket is looked for by the same key.
    missing = re.compile(
        r"(?<![\w.])%s\s+not\s+in\s+(?:\w+\.)*%s\b|\b%s\.get\(\s*%s\s*[,)]"
        % (key, re.escape(name), re.escape(name), key)
    )
    # Or it leaves with what it has by that key, and comes to the line without, or else gives it
    # in either case.
    known = re.compile(r"\bif\b.*(?<![\w.])%s\s+in\s+(?:\w+\.)*%s\b" % (key, re.escape(name)))
    given = re.compile(r"\breturn\b.*\b%s\[\s*%s\s*\]" % (re.escape(name), key))
    before, behind = [line[: filled.start()], *above(lines, at)], list(below(lines, at))
    if _recalls(re.escape(name), before):
        return True
    leaves = any(map(known.search, before)) and any(map(given.search, before + behind))
    if not leaves and not any(map(missing.search, before)):
        return False
    kept = re.compile(r"\breturn\b.*(?:\b%s\[|(?<![\w.])%s\s*$)" % (re.escape(name), value))
    return "(" in filled.group(3) or any(map(kept.search, behind)) or _is_made(value, before, missing)


def _of_key(text):
    """A pattern for a key as it stands between the brackets: a tuple has brackets of its own elsewhere."""
    key = text.strip()
    if "," not in key:
        return re.escape(key)
    return r"\(?\s*%s\s*\)?" % re.escape(key[1:-1].strip() if key.startswith("(") and key.endswith(")") else key)


def _is_made(value, before, missing):
    """Whether a variable was given what a call returned, since a line that found none. What else
    had it is only noted."""
    made = re.compile(r"(?<![\w.])%s\s*=(?!=).*\(" % value)
    since = itertools.takewhile(lambda line: not missing.search(line), before)
    return any(map(made.search, since))


def _recalls(name, before):
    """Whether it was asked before for all that a dictionary with a name has by some keys, and then for
    those that are not among these: they are worked out together."""
    had = re.compile(r"\b(\w+)\s*=\s*\{.*\b%s\[(\w+)\].*\bif\s+\2\s+in\s+(?:\w+\.)*%s\b" % (name, name))
    found = next(filter(None, map(had.search, before)), None)
    lacks = found and re.compile(r"\bnot\s+in\s+%s\b" % re.escape(found.group(1)))
    return bool(lacks) and any(map(lacks.search, before))


def _updates(name, lines, at):
    """Whether a dictionary with a name gets at a line what it was found not to have, and is asked
    for that then."""
    missing = re.compile(r"\bnot\s+in\s+(?:\w+\.)*%s\b" % re.escape(name))
    asked = re.compile(r"\b%s\[" % re.escape(name))
    return any(map(missing.search, above(lines, at))) and any(map(asked.search, below(lines, at)))


@functools.lru_cache(maxsize=64)  # each look asks again
def carries_on(site):
    """Whether the line of a site puts a variable back by a key by which the function had got it, and
    not only where it had got none."""
    _, lines, at = line_of(site)
    filled = FILLED.search(code(lines[at])) if lines and len(lines[at]) <= LONGEST else None
    if filled is None or not filled.group(3).isidentifier():
        return False
    name, key, value = map(re.escape, map(str.strip, filled.groups()))
    indented = re.match(r"\s*", lines[at]).group()
    got = r"^%s(?=\S)(?:.*[\s,])?%s\b[^=(]*=(?!=).*\b%s(?:\.get\(\s*%s\s*[,)]|\[\s*%s\s*\])"
    got %= indented, value, name, key, key
    return any(map(re.compile(got).search, above(lines, at)))


@functools.lru_cache(maxsize=64)  # each look asks again
def registers(site):
    """Whether the line of a site adds an entry that another line of the file takes out again."""
    return _is_done_to(site, TAKEN_OUT)


@functools.lru_cache(maxsize=64)  # each look asks again
def asks_for(site):
    """Whether the line of a site adds an entry that another line of the file finds by its key again, or
    goes through with the others."""
    return _is_done_to(site, FOUND)


def _is_done_to(site, form):
    """Whether a line of the file does what a form says to the dictionary that the line of a site adds to."""
    file, lines, at = line_of(site)
    line = code(lines[at]) if lines and len(lines[at]) <= LONGEST else ""
    filled = FILLED.search(line) or FIRST.search(line)
    if filled is None:
        return False
    name = filled.group(1)
    return bool(search(file, re.compile(form % {"name": re.escape(name)}), name))


@functools.lru_cache(maxsize=64)  # each look asks again
def queues(site):
    """Whether the line of a site adds an element to a deque or a list of which another line of the file
    takes one, at the other end: what is taken where it was added is a stack. Or to a heap."""
    file, lines, at = line_of(site)
    line = code(lines[at]) if lines and len(lines[at]) <= LONGEST else ""
    pushed, added = PUSHED.search(line), ADDED.search(line)
    if pushed is not None:
        return bool(search(file, re.compile(POPPED % re.escape(pushed.group(1))), "heappop"))
    if added is None:
        return False
    name, how = added.groups()
    return bool(search(file, re.compile(TAKEN[how] % re.escape(name)), name))


@functools.lru_cache(maxsize=64)  # each look asks again
def trims(site):
    """Whether the line of a site adds an element to a deque or a list, and lines below it in its function let
    go of others under a condition, or some elsewhere of what is old or too much."""
    file, lines, at = line_of(site)
    added = ADDED.search(code(lines[at])) if lines and len(lines[at]) <= LONGEST else None
    if added is None:
        return False
    name, how = added.groups()
    let_go = re.compile(TRIMMED[how] % {"name": re.escape(name)})
    since = itertools.dropwhile(lambda line: not CONDITION.match(line), below(lines, at))
    return any(map(let_go.search, since)) or any(gives_way(other, site) for other in search(file, let_go, name))


@functools.lru_cache(maxsize=64)  # each look asks again
def times(site):
    """Whether the line of a site pushes on a heap what is to be done at a time, by the names of the function
    that does so, or of the heap."""
    _, lines, at = line_of(site)
    pushed = PUSHED.search(code(lines[at])) if lines and len(lines[at]) <= LONGEST else None
    names = (site.rpartition(" ")[2], pushed.group(1)) if pushed is not None else ()
    return any(map(TIMED.match, names))


@functools.lru_cache(maxsize=64)  # each look asks again
def removes(site):
    """Whether the line of a site adds an element to a list out of which another line of the file takes
    some again."""
    file, lines, at = line_of(site)
    added = ADDED.search(code(lines[at])) if lines and len(lines[at]) <= LONGEST else None
    if added is None:
        return False
    return bool(search(file, re.compile(REMOVED % {"name": re.escape(added.group(1))}), added.group(1)))
