"""Searches in the text of source files: the program's, and of libraries by name."""

import functools
import os
import re
import sys

from gpumem_agent.holders.kinds import is_library, main_file, namespace

MOST_FILES = 50  # of the program that are searched
MOST_BYTES = 1 << 20  # of a file; a larger one is not searched
LONGEST = 400  # characters of a line; a match in a longer one may take seconds
ADDING = (
    "append|appendleft|extend|extendleft|insert|add|update|setdefault|put|put_nowait|push|register|write|writelines|dump"
    "|submit|apply_async|map_async|starmap_async"
)
# What stands before and behind a name where something is added to it, or where the method
# that does so is handed to somebody else.
TEMPLATE = (
    r"(?:%(name)s(?:\[[^\]]*\])*\s*(?:\.(?:%(adding)s)\s*[(,)]%(stores)s|\+=|\|=)"
    r"|%(name)s\s*=(?!=).*%(name)s\b"
    # A function that does so; it may be chosen by how long that is.
    r"|\b(?:heappush|insort\w*)\b[^(]*(?:\([^()]*\)[^(]*)?\(\s*[\w.]*%(name)s\s*,)"
)
STORES = r"|\[[^=]*\]\s*=(?!=)"
# The same with a constant key of a dictionary in the name's place.
KEYED = (
    r"(?:\[\s*[\"']%(key)s[\"']\s*\](?:\[[^\]]*\])*\s*(?:\.(?:%(adding)s)\s*\(|\[[^=]*\]\s*=(?!=)|\+=|\|=)"
    r"|\.setdefault\s*\(\s*[\"']%(key)s[\"']\s*,.*\)\s*\.(?:%(adding)s)\s*\()"
)
QUOTED = re.compile(r"(\"{3}|'{3}).*?\1", re.DOTALL)
DEF = re.compile(r"\s*(?:async\s+)?def\s+(\w+)")
CLASS = re.compile(r"\s*class\s+\w")
BEFORE, BEHIND = 30, 12  # lines of the function that are looked at
LOOP = re.compile(r"\s*(?:(?:async\s+)?for\s.*\sin\b|while\b)")


def module_file(name):
    """A module's file; empty for none."""
    module = sys.modules.get(name)
    file = namespace(module).get("__file__") if module is not None else None
    if file is None and name == "__main__":
        file = main_file()
    return file if type(file) is str else ""


def adds_to(name, mark, is_array=False):
    """The pattern of a line that adds to a name with a mark before it. What is stored into an
    array adds nothing to it."""
    stores = "" if is_array else STORES
    return re.compile(TEMPLATE % {"name": mark + re.escape(name), "adding": ADDING, "stores": stores})


def adds_below(key):
    """The pattern of a line that adds to what a dictionary has below a constant key."""
    return re.compile(KEYED % {"key": re.escape(key), "adding": ADDING})


def in_program(pattern, word, most):
    """At most so many sites of the lines of the program that match a pattern, as search has
    them of each file."""
    every = []
    for file in program_files():
        every.extend(search(file, pattern, word))
        if len(every) >= most:
            break
    return every[:most]


def program_files():
    """The files of the program's modules, libraries' left out."""
    return _program_files(len(sys.modules), len(sys.path))


@functools.lru_cache(maxsize=1)  # until something is imported
def _program_files(*_):
    files = dict.fromkeys(module_file(name) for name in list(sys.modules))
    found = [file for file in files if file.endswith(".py") and not is_library(file)]
    return found[:MOST_FILES]


def read(file):
    """The text of a file; empty of one that is too large, or not there."""
    try:
        if not os.path.isfile(file) or os.path.getsize(file) > MOST_BYTES:
            return ""
        with open(file, "rb") as source:
            return source.read(MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def search(file, pattern, word, texts=False):
    """Sites of the lines of a file that have a word and match a pattern, or pairs of these and
    the lines' texts without comments. Those come last that run once where another one runs again and again: of
    a function's lines those outside of its loops, and a module's own."""
    text = read(file)
    if word not in text:
        return []
    lines = text.splitlines()
    hits = [
        i
        for i, line in enumerate(lines)
        if word in line and len(line) <= LONGEST and pattern.search(line.partition("#")[0])
    ]
    told = _in_quotes(text) if hits else ()
    places = [(i, *_around(lines, i)) for i in hits if i not in told]
    looped = {head for _, head, is_looped in places if is_looped}
    places.sort(key=lambda place: not place[2] and (place[1] is None or place[1] in looped))
    found = [("%s:%d %s" % (file, i + 1, _name(lines, head)), code(lines[i])) for i, head, _ in places]
    return found if texts else [site for site, _ in found]


def inside(sites, file, first, head=DEF):
    """Those sites in a file that lie in the function which begins at a line, or the class."""
    last = _last(read(file).splitlines(), first, head)
    return [site for site in sites if first <= int(site[len(file) + 1 :].partition(" ")[0]) <= last]


def outer(file, first):
    """The first line of the function around the one that begins at a line; 0 of none."""
    lines = read(file).splitlines()
    head = _around(lines, first - 1)[0] if 0 < first <= len(lines) else None
    return 0 if head is None else head + 1


def _last(lines, first, head):
    """The last line of a function or class, both from 1 on. Decorators come first, and the end
    of its parameters may be no deeper than it is."""
    at = next((i for i in range(first - 1, len(lines)) if head.match(lines[i])), len(lines))
    for end in range(at + 1, len(lines)):
        line = lines[end]
        if line.strip() and indent(line) <= indent(lines[at]) and not line.lstrip().startswith((")", "#")):
            return end
    return len(lines)


def _in_quotes(text):
    """The lines, from 0 on, that strings of several lines have: what they say is not done."""
    found = set()
    for string in QUOTED.finditer(text):
        first = text.count("\n", 0, string.start())
        found.update(range(first, first + string.group().count("\n") + 1))
    return found


def _name(lines, head):
    """The name of the function that begins at a line."""
    return "<module>" if head is None else DEF.match(lines[head]).group(1)


def _around(lines, at):
    """(the first line of the function that a line is in, from 0 on, or None; whether it is in
    a loop there)."""
    depth, is_looped = indent(lines[at]), LOOP.match(lines[at]) is not None
    for place in range(at - 1, -1, -1):
        line = lines[place]
        if depth == 0:
            break
        if line.strip() and indent(line) < depth and not line.lstrip().startswith(")"):
            depth = indent(line)
            if DEF.match(line):
                return place, is_looped
            is_looped = is_looped or LOOP.match(line) is not None
    return None, is_looped


def indent(line):
    """How far a line stands in."""
    return len(line) - len(line.lstrip())


def line_of(site):
    """(file, its lines, the number from 0 on) of a site; no lines where that is none."""
    file, _, number = site.rpartition(" ")[0].rpartition(":")
    lines = read(file).splitlines()
    if not number.isdigit() or not 0 < int(number) <= len(lines):
        return file, [], 0
    return file, lines, int(number) - 1


def above(lines, at):
    """The lines of the function before a line of it, with those of functions that it makes there."""
    depth = max(1, indent(lines[at])) if lines else 1
    for line in reversed(lines[max(0, at - BEFORE) : at]):
        if DEF.match(line) and indent(line) < depth:
            return
        yield code(line)


def below(lines, at):
    """The lines of the function behind a line of it, likewise."""
    depth = max(1, indent(lines[at])) if lines else 1
    for line in lines[at + 1 : at + 1 + BEHIND]:
        if DEF.match(line) and indent(line) < depth:
            return
        yield code(line)


def code(line):
    """A line without a comment at its end."""
    return line.partition("#")[0].rstrip()
