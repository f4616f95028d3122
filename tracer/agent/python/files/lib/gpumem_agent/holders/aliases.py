"""Other names under which a function fills a container, or empties it: a loop calls its elements something,
and a variable may be the container, one of its elements, or the method that adds to it; a parameter is what
another function has."""

import re

from gpumem_agent.holders.texts import ADDING, adds_to, inside, outer, search

# A loop over it, alone or beside others; what it calls the elements.
LOOPED = r"^\s*(?:async\s+)?for\s+([\w\s,()*]+?)\s+in\b[^#]*%s\b"
# A variable that is it or an element of it.
CALLED = (
    r"^\s*(\w+)\s*(?::[^=]*)?=(?!=)\s*[\w.]*%s(?:\[[^\]]*\])*"
    r"(?:\.(?:get|setdefault)\s*\(.*)?\s*(?:$|\bor\b|\bif\b)"
)
# A variable that is its method.
ADDER = r"^\s*(\w+)\s*=\s*[\w.]*%%s(?:\[[^\]]*\])*\.(?:%s)\s*$" % ADDING
# An argument of that name, made of what an attribute has.
COPIED = r"(?<![\w.])%s\s*=(?!=)[^#=]*%s\b"
ATTRIBUTE = r"\."  # before one
# A call that hands on what has a name, or an element of it.
HANDED = r"(?<![\w])(\w+)\((?:([^()]*),)?\s*[\w.]*%s(?:\[[^\]]*\])*\s*[,)]"
TAKEN = r"^\s*(?:async\s+)?def\s+%s\s*\(([^()]*)"  # its parameters
SELVES = ("self", "cls")
WORD = re.compile(r"[^\W\d]\w*")
FREE = r"(?<![\w.])"  # before a variable


def sites(file, name, mark):
    """Places of the lines of a file that add to a container by another name than its own."""
    named, found = mark + re.escape(name), []
    if mark == ATTRIBUTE:  # a copy of the object may get it, longer
        found.extend(search(file, re.compile(COPIED % (re.escape(name), named)), name))
    for form, adds in ((LOOPED, _to_variable), (CALLED, _to_variable), (ADDER, _by_call)):
        pattern = re.compile(form % named)
        for site, line in search(file, pattern, name, texts=True):
            first = int(site[len(file) + 1 :].partition(" ")[0])
            for alias in WORD.findall(pattern.match(line).group(1)):
                found.extend(_inside(search(file, adds(alias), alias), file, first, site))
    return list(dict.fromkeys(found))


def _to_variable(alias):
    return adds_to(alias, FREE)


def _by_call(alias):
    return re.compile(FREE + r"%s\s*\(" % re.escape(alias))


def _inside(found, file, first, site):
    """Those places that are behind a line, in the same function."""
    function = site.rpartition(" ")[2]
    behind = (s for s in found if int(s[len(file) + 1 :].partition(" ")[0]) > first)
    return [s for s in behind if s.rpartition(" ")[2] == function]


def lines(file, name, mark, form):
    """Places of the lines of a file that do what a form says to a container by another name than its own: by a
    variable, or by a parameter of a function that is handed it."""
    named = _variables(file, name, mark)
    handed = [mark + re.escape(name), *(FREE + re.escape(alias) for alias, _ in named)]
    for own, word in zip(handed, (name, *(alias for alias, _ in named))):
        named.extend(_parameters(file, own, word))
    found = []
    for alias, first in named:
        hits = search(file, re.compile(form % {"name": re.escape(alias)}), alias)
        found.extend(inside(hits, file, first) if first else hits)
    return list(dict.fromkeys(found))


def _variables(file, name, mark):
    """Pairs of a variable that is a container with a name, or an element of it, and the first line of its function."""
    found = {}
    for form in (LOOPED, CALLED):
        pattern = re.compile(form % (mark + re.escape(name)))
        for site, line in search(file, pattern, name, texts=True):
            first = outer(file, _number(file, site))
            found.update(((alias, first), None) for alias in WORD.findall(pattern.match(line).group(1)))
    return list(found)


def _parameters(file, named, word):
    """The same of the parameters by which functions of the file are handed what has a name."""
    pattern = re.compile(HANDED % named)
    for _, line in search(file, pattern, word, texts=True):
        for function, before in pattern.findall(line):
            place = before.count(",") + 1 if before else 0
            taken = re.compile(TAKEN % re.escape(function))
            for site, head in search(file, taken, function, texts=True):
                parts = taken.match(head).group(1).split(",")
                names = [part.partition(":")[0].partition("=")[0].strip() for part in parts]
                names = names[1:] if names[0] in SELVES else names
                if place < len(names) and WORD.fullmatch(names[place]):
                    yield names[place], _number(file, site)


def _number(file, site):
    return int(site[len(file) + 1 :].partition(" ")[0])
