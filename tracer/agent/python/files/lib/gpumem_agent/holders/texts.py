"""Searches in the text of source files: the program's, and of libraries by name."""

import functools
import os
import re
import sys

from gpumem_agent.holders.kinds import is_library, main_file, namespace

MOST_FILES = 50  # of the program that are searched
MOST_BYTES = 1 << 20  # of a file; a larger one is not searched
LONGEST = 400  # characters of a line; a match in a longer one may take seconds
ADDING = "append|appendleft|extend|extendleft|insert|add|update|setdefault|put|put_nowait|push|register|write|writelines|dump"
# What stands before and behind a name where something is added to it, or where the method
# that does so is handed to somebody else.
TEMPLATE = (
    r"(?:%(name)s(?:\[[^\]]*\])*\s*(?:\.(?:%(adding)s)\s*[(,)]|\[[^=]*\]\s*=(?!=)|\+=|\|=)"
    r"|%(name)s\s*=(?!=).*%(name)s\b"
    # A function that does so; it may be chosen by how long that is.
    r"|\b(?:heappush|insort\w*)\b[^(]*(?:\([^()]*\)[^(]*)?\(\s*[\w.]*%(name)s\s*,)"
)
# The same with a constant key of a dictionary in the name's place.
KEYED = (
    r"(?:\[\s*[\"']%(key)s[\"']\s*\](?:\[[^\]]*\])*\s*(?:\.(?:%(adding)s)\s*\(|\[[^=]*\]\s*=(?!=)|\+=|\|=)"
    r"|\.setdefault\s*\(\s*[\"']%(key)s[\"']\s*,.*\)\s*\.(?:%(adding)s)\s*\()"
)
QUOTED = re.compile(r"(\"{3}|'{3}).*?\1", re.DOTALL)
DEF = re.compile(r"\s*(?:async\s+)?def\s+(\w+)")


def module_file(name):
    """A module's file; empty for none."""
    module = sys.modules.get(name)
    file = namespace(module).get("__file__") if module is not None else None
    if file is None and name == "__main__":
        file = main_file()
    return file if type(file) is str else ""


def adds_to(name, mark):
    """The pattern of a line that adds to a name with a mark before it."""
    return re.compile(TEMPLATE % {"name": mark + re.escape(name), "adding": ADDING})


def adds_below(key):
    """The pattern of a line that adds to what a dictionary has below a constant key."""
    return re.compile(KEYED % {"key": re.escape(key), "adding": ADDING})


def in_program(pattern, word, most):
    """At most so many sites of the lines of the program that match a pattern."""
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


def search(file, pattern, word):
    """Sites of the lines of a file that have a word and match a pattern."""
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
    return ["%s:%d %s" % (file, i + 1, function(lines, i)) for i in hits if i not in told]


def inside(sites, file, first):
    """Those sites in a file that lie in the function which begins at a line."""
    last = _last(read(file).splitlines(), first)
    return [site for site in sites if first <= int(site[len(file) + 1 :].partition(" ")[0]) <= last]


def _last(lines, first):
    """The last line of a function, both from 1 on. Decorators come first, and the end of
    its parameters may be no deeper than it is."""
    at = next((i for i in range(first - 1, len(lines)) if DEF.match(lines[i])), len(lines))
    for end in range(at + 1, len(lines)):
        line = lines[end]
        if line.strip() and _depth(line) <= _depth(lines[at]) and not line.lstrip().startswith((")", "#")):
            return end
    return len(lines)


def _in_quotes(text):
    """The lines, from 0 on, that strings of several lines have: what they say is not done."""
    found = set()
    for string in QUOTED.finditer(text):
        first = text.count("\n", 0, string.start())
        found.update(range(first, first + string.group().count("\n") + 1))
    return found


def function(lines, at):
    """The function that a line is in."""
    depth = _depth(lines[at])
    for line in reversed(lines[:at]):
        if depth == 0:
            break
        if line.strip() and _depth(line) < depth and not line.lstrip().startswith(")"):
            depth = _depth(line)
            head = DEF.match(line)
            if head:
                return head.group(1)
    return "<module>"


def _depth(line):
    return len(line) - len(line.lstrip())
