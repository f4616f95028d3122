"""Other names under which a function fills a container: a loop calls its elements something,
and a variable may be the container, one of its elements, or the method that adds to it."""

import re

from gpumem_agent.holders.texts import ADDING, adds_to, search

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
