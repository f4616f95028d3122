"""Which lines of the program take something out of a container that it fills: one that empties it, or
takes out what is old or too much, may not have run yet; of a container of which none does, nothing comes out again.

Like all that is read in the text of the program it is the usual forms that are known, and
no other; other names are known of variables, and of parameters of functions of the same file.
"""

import functools
import re

from gpumem_agent.holders import ages, aliases, runs
from gpumem_agent.holders.bounds import TAKES_OUT
from gpumem_agent.holders.texts import (
    CLASS,
    DEF,
    MOST_FILES,
    above,
    below,
    code,
    indent,
    line_of,
    program_files,
    search,
)

# What only reads a container, or adds to it.
READS = (
    "len|list|tuple|sum|fsum|max|min|sorted|set|frozenset|enumerate|zip|iter|any|all|bool|str|repr|print|stack|cat"
    "|concat|concatenate|mean|fmean|median|std|vstack|hstack|array|asarray|tensor|reversed|isinstance|id|type|dict"
    "|Counter|islice|choice|percentile|quantile|format|isfinite|fromiter|append|extend|setdefault"
)
# All of it goes, or all that is not wanted still: "x = [one for one in x if …]", "old, x = x, []".
EMPTIES = (
    r"\b%(name)s\.clear\s*\(|\bdel\s+(?:\w+\.)*%(name)s\[[^\]]*:"
    r"|%(mark)s%(name)s\s*(?:\[\s*:\s*\]\s*)?(?::[^=]*)?=(?!=)\s*(?:\w+(?=\())?"
    r"(?:[\[{(].*\bin\s+(?:\w+\.)*%(name)s\b.*\bif\b"
    r"|\(?(?:\w+\.)*%(name)s\s*\[[^\]]*:[^\]]*\]\)?\s*$)"
    # What a function of the program leaves of it.
    r"|%(mark)s%(name)s\s*=(?!=)\s*(?:\w+\.)?(?!(?:%(reads)s)\()\w+\((?:\w+\.)*%(name)s\s*[,)]"
)
# What is wanted of it has a name of its own first: "kept = [one for one in x if …]", and further down "x = kept".
CHOSEN = r"(?<![\w.])(\w+)\s*=(?!=)\s*(?:\w+\()?[\[{(].*\bin\s+(?:\w+\.)*%(name)s\b.*\bif\b"
PUT_BACK = r"%(mark)s%(name)s\s*(?:\[\s*:\s*\]\s*)?=(?!=)\s*(?:\w+\()?(\w+)\)?\s*$"
# An attribute is given another container, where that is not how it is made.
RENEWS = (
    r"\.%(name)s\s*(?:,[^=]*)?(?::[^=]*)?=(?!=)(?:.*,)?"
    r"\s*(?:\[\s*\]|\{\s*\}|(?:list|dict|set|deque|OrderedDict|Counter)\(\s*\))\s*$"
)
ASSIGNS = (
    r"^\s*(?:[\w.]+\s*,\s*)*[\w.]*%(mark)s%(name)s\s*(?:\[\s*:\s*\]\s*)?(?:,[^=]*)?(?::[^=]*)?=(?!=)"
    r"|[;:]\s+[\w.]*%(mark)s%(name)s\s*=(?!=)|^\s+%(name)s\s*:[^=]*=(?!=)"
)
TAKES = TAKES_OUT + (
    r"|\b%(name)s(?:\[[^\]]*\])*\.(?:pop|clear|remove|get_nowait|difference_update|intersection_update)\s*\("
    r"|\b%(name)s(?:\[[^\]]*\])*\.get\s*\(\s*(?:\)|timeout\b|block\b|True\b|False\b)"  # of a queue
)
# What is handed on under another name.
HANDED = (
    r"(?<!\w)(?!(?:%(reads)s)\()\w+\((?:[^()]*[\s,=*])?(?:\w+\.)*%(name)s\s*[,)]"
    r"|(?:=|\breturn|\byield)\s*(?:\w+\.)*%(name)s\s*(?:$|\bif\b|\bor\b)"
)
# A condition that compares how many there are.
COUNTS = re.compile(r"(?=.*[<>]).*\blen\(")
# All but one of them are wanted still.
WITHOUT = re.compile(r"\bif\s+[\w.]+\s+(?:is\s+not|!=)\s+(?!None\b|True\b|False\b)[A-Za-z_][\w.]*\s*[\])}]")
NEWEST, APPENDS = re.compile(r"\.pop\s*\(\s*\)"), re.compile(r"\.append\s*\(")  # of a list, at its end
SWEPT = r"\bfor\b.*\bin\b.*\b%s\b(?!\[).*\bif\b|^\s*for\b.*\bin\b.*\b%s\b(?!\[).*:\s*$"
# A path in which one container stands: "dict main() local board.sightings[…].values".
ELEMENTS = re.compile(r"\w+ [^\[]*?(?P<dot>\.)?(?P<name>[A-Za-z_]\w*)(?:\[…\])+(?:\.\w+)*$")
# Functions that are called once, at the end of what has the container.
ENDING = re.compile(
    r"_*(?:a?close|shut_?down|stop|finish|finali[sz]e|end|tear_?down|dispose|__a?exit__|__del__)"
)
BASED = re.compile(r"\bclass\s+\w+\s*\(\s*(?!object\s*\)|\))")
MAKERS = " __init__", " __new__", " __post_init__", " setup", " <module>"  # ends of sites: where it is made anyway


def told(name, of_object, sites):
    """{"emptied": the place of a line that empties a container with a name, which some sites fill, or takes out
    what is old or too much}, {"taken": that of one that takes out a single element}, with "taken_ran" where that is
    known to have run, {"only_added": True} where no line of the program takes anything out of it, or {}."""
    if not name.isidentifier() or not sites:
        return {}
    found = dict(_told(name, of_object, sites[0], len(program_files())))
    runs.mark([found])
    return found


def of_path(path, sites):
    """What is told of the container whose elements a path goes through, where lines at some sites make these."""
    found = ELEMENTS.match(path)
    return told(found.group("name"), bool(found.group("dot")), sites) if found else {}


@functools.lru_cache(maxsize=16)  # each look asks again
def _told(name, of_object, site, files):
    file = site.rpartition(" ")[0].rpartition(":")[0]
    words = {"name": re.escape(name), "mark": r"\." if of_object else r"(?<![\w.])", "reads": READS}
    forms = (EMPTIES, TAKES, ASSIGNS, RENEWS)
    empties, taking, made, renews = (search(file, re.compile(form % words), name) for form in forms)
    empties = empties + (renews if len(made) > 1 else [])
    empties += _put_back(file, name, words)
    empties = [s for s in empties if not s.endswith(MAKERS)]
    without = [s for s in empties if _says(s, WITHOUT)]
    empties, taking = [s for s in empties if s not in without], taking + without
    elsewhere = [] if empties else aliases.lines(file, name, words["mark"], TAKES)
    empties += [s for s in (*taking, *elsewhere) if gives_way(s, site)] + [s for s in taking if _sweeps(s, site, name)]
    reached = _first_reached(empties, site)
    if reached:
        age = ages.of(reached)
        return {"emptied": reached, **({"emptied_after": age} if age else {})}
    single = (s for s in (*taking, *elsewhere) if not s.endswith(MAKERS) and not _counts(s))
    taken = None if empties else _first_reached(single, site)
    if taken:
        return {"taken": taken}
    if empties or taking or elsewhere or len(made) > 1 or files >= MOST_FILES:
        return {}
    takes = re.compile("|".join(form % words for form in (TAKES, HANDED)))
    if any(search(each, takes, name) for each in dict.fromkeys((file, *program_files()))):
        return {}
    return {"only_added": True}


def _first_reached(found, filled):
    """The first of some sites that is in the function that fills, or one that somebody calls; None of none."""
    return next((s for s in found if _function(s) == _function(filled) or _is_reached(s)), None)


def _function(site):
    return site.rpartition(" ")[2]


def _says(site, form):
    _, lines, at = line_of(site)
    return bool(lines) and form.search(code(lines[at])) is not None


def _counts(site):
    """Whether the line of a site takes something out where there is too much."""
    _, lines, at = line_of(site)
    return any(map(COUNTS.match, ages.conditions(lines, at)))


def _put_back(file, name, words):
    """Sites of the lines that choose what is wanted of a container, where a later line of the function puts that in
    its place."""
    chosen, put_back = (re.compile(form % words) for form in (CHOSEN, PUT_BACK))
    found = []
    for site, text in search(file, chosen, name, texts=True):
        _, lines, at = line_of(site)
        put = {hit.group(1) for hit in map(put_back.search, below(lines, at)) if hit}
        if any(hit.group(1) in put for hit in chosen.finditer(text)):
            found.append(site)
    return found


def _is_reached(site):
    """Whether the function of a site is one that somebody calls while what has the container is at work: its name
    is in another line of the program than one of a function for the end, or a library may call it."""
    file, lines, at = line_of(site)
    function = _function(site)
    if ENDING.fullmatch(function):
        return False
    if not lines or not function.isidentifier() or function.startswith("__") or _is_handed_over(lines, at):
        return True
    named = re.compile(r"(?<!def )\b%s\b(?!\s*=(?!=))" % re.escape(function))
    places = (s for each in dict.fromkeys((file, *program_files())) for s in search(each, named, function))
    return any(not ENDING.fullmatch(_function(s)) for s in places)


def _is_handed_over(lines, at):
    """Whether the function around a line has a decorator, or is a method of a class that has a base."""
    depth = indent(lines[at])
    for i in range(at, -1, -1):
        line = lines[i]
        if not line.strip() or indent(line) >= depth:
            continue
        depth = indent(line)
        if DEF.match(line) and i > 0 and lines[i - 1].lstrip().startswith("@"):
            return True
        if CLASS.match(line):
            return BASED.search(line) is not None
    return False


def _sweeps(site, filled, name):
    """Whether the line of a site, in another function than the one that fills, takes out what a loop over all of
    the container has chosen."""
    _, lines, at = line_of(site)
    chosen = re.compile(SWEPT.replace("%s", re.escape(name)))
    elsewhere = _function(site) != _function(filled)
    return elsewhere and any(map(chosen.search, above(lines, at)))


def gives_way(site, filled):
    """Whether the line of a site takes out what is old; or what is too much, in another function than the one
    that fills: that has its bound beside it. Who takes the newest undoes something."""
    _, lines, at = line_of(site)
    conditions = ages.conditions(lines, at)
    elsewhere = _function(site) != _function(filled) and not (_says(site, NEWEST) and _says(filled, APPENDS))
    return any(ages.compares(c) or elsewhere and COUNTS.match(c) for c in conditions)
