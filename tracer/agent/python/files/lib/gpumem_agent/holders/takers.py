"""Which lines of the program take something out of a container that it fills: one that empties it, or
keeps a part of it, may not have run yet; of a container of which none does, nothing comes out again.

Like all that is read in the text of the program it is the usual forms that are known, and
no other; where a function gets the container by another name, nothing is told.
"""

import functools
import re

from gpumem_agent.holders.bounds import TAKES_OUT
from gpumem_agent.holders.texts import MOST_FILES, program_files, search

# All of it goes, or all that is not wanted still: "x = [one for one in x if …]", "old, x = x, []".
EMPTIES = (
    r"\b%(name)s\.clear\s*\(|\bdel\s+(?:\w+\.)*%(name)s\[[^\]]*:"
    r"|%(mark)s%(name)s\s*(?:\[\s*:\s*\]\s*)?(?::[^=]*)?=(?!=)\s*(?:\w+(?=\())?"
    r"(?:[\[{(].*\bin\s+(?:\w+\.)*%(name)s\b.*\bif\b"
    r"|\(?(?:\w+\.)*%(name)s\s*\[[^\]]*:[^\]]*\]\)?\s*$)"
    # An attribute: a variable is made so.
    r"|\.%(name)s\s*(?:,[^=]*)?(?::[^=]*)?=(?!=)(?:.*,)?"
    r"\s*(?:\[\s*\]|\{\s*\}|(?:list|dict|set|deque|OrderedDict|Counter)\(\s*\))\s*$"
)
ASSIGNS = r"^\s*(?:[\w.]+\s*,\s*)*[\w.]*%(mark)s%(name)s\s*(?:\[\s*:\s*\]\s*)?(?:,[^=]*)?(?::[^=]*)?=(?!=)"
TAKES = TAKES_OUT + (
    r"|\b%(name)s(?:\[[^\]]*\])*\.(?:pop|clear|remove|get_nowait|difference_update|intersection_update)\s*\("
)
# What is handed on under another name, but for what only reads it.
READS = (
    "len|list|tuple|sum|fsum|max|min|sorted|set|frozenset|enumerate|zip|iter|any|all|bool|str|repr|print|stack|cat"
    "|concat|concatenate|mean|fmean|median|std|vstack|hstack|array|asarray|tensor|reversed|isinstance|id|type|dict"
    "|Counter|islice|choice|percentile|quantile|format|isfinite|fromiter|append|extend|setdefault"
)
HANDED = (
    r"(?<!\w)(?!(?:%s)\()\w+\((?:[^()]*[\s,=*])?(?:\w+\.)*%%(name)s\s*[,)]"
    r"|(?:=|\breturn|\byield)\s*(?:\w+\.)*%%(name)s\s*(?:$|\bif\b|\bor\b)" % READS
)
MAKERS = " __init__", " __new__", " __post_init__", " setup", " <module>"  # ends of sites: where it is made


def told(name, of_object, sites):
    """{"emptied": the place of a line that empties a container with a name, which some sites fill}, or
    {"only_added": True} where no line of the program takes anything out of it, or {}."""
    if not name.isidentifier() or not sites:
        return {}
    return dict(_told(name, of_object, _file(sites[0]), len(program_files())))


@functools.lru_cache(maxsize=64)  # each look asks again
def _told(name, of_object, file, files):
    words = {"name": re.escape(name), "mark": r"\." if of_object else r"(?<![\w.])"}
    empties = [s for s in search(file, re.compile(EMPTIES % words), name) if not s.endswith(MAKERS)]
    if empties:
        return {"emptied": empties[0]}
    if files >= MOST_FILES:
        return {}
    takes = re.compile("|".join(form % words for form in (TAKES, HANDED)))
    assigns = re.compile(ASSIGNS % words)
    made = 0
    for each in dict.fromkeys((file, *program_files())):
        if search(each, takes, name):
            return {}
        made += sum(not (of_object and site.endswith(MAKERS)) for site in search(each, assigns, name))
    return {"only_added": True} if made <= (not of_object) else {}


def _file(site):
    return site.rpartition(" ")[0].rpartition(":")[0]
