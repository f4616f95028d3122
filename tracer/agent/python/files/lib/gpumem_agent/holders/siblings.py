"""Holders that are entries of one dictionary: sessions, requests, results of a cache.

As long as a dictionary has few entries a path tells the key, which for keys that a program
writes says most: `state['momentum']`. Of keys that are made as the program goes on each is a
holder of little, and none explains what came, which the dictionary does. So it is told in
place of its entries where several of their keys came since it was first met, or where many
have arrays that came in the same place below them; of keys with digits, which programs make
for sessions and requests, several are many.
"""

CAME = 4  # keys since the dictionary was first met
ALIKE = 8  # keys with the same way on to what came
MOST_MET = 1000  # dictionaries whose keys are noted


class Siblings:
    """The entries of dictionaries that paths of one look go through. Met are the keys of
    dictionaries when they were first met, as {(identity, path): hashes}: those of this look
    are added to it."""

    def __init__(self, met):
        self._met = met
        self._before = dict(met)
        self._entries = {}  # {path of a holder: paths.Entry objects, the outermost first}

    def note(self, path, entries):
        """Notes the entries that the path of a holder goes through."""
        if not entries:
            return
        self._entries.setdefault(path, entries)
        for entry in entries:
            if len(self._met) < MOST_MET:
                self._met.setdefault((entry.identity, entry.path), entry.keys)

    def together(self):
        """{path of a holder: (path of the dictionary that stands for it, its paths.Entry)}."""
        by_dictionary, found = {}, {}
        for entries in self._entries.values():
            for entry in entries:
                by_dictionary.setdefault(entry.identity, []).append(entry)
        filled = {i for i, entries in by_dictionary.items() if self._is_filled(entries)}
        for path, entries in self._entries.items():
            entry = next((e for e in entries if e.identity in filled), None)
            if entry is not None:
                found[path] = _path(entry, by_dictionary[entry.identity]), entry
        return found

    def _is_filled(self, entries):
        """Whether the keys of some entries of one dictionary are made as the program goes on."""
        first = self._before.get((entries[0].identity, entries[0].path))
        if first is not None and len({e.key for e in entries} - first) >= CAME:
            return True
        alike, numbered = {}, {}
        for entry in entries:
            # Arrays that are entries themselves may be a model's, each put in place of another.
            if entry.rest:
                alike.setdefault(entry.rest, set()).add(entry.key)
            if entry.rest and entry.is_numbered:
                numbered.setdefault(entry.rest, set()).add(entry.key)
        return _most(alike) >= ALIKE or _most(numbered) >= CAME


def _most(keys):
    return max(map(len, keys.values()), default=0)


def _path(entry, entries):
    """The path of a dictionary, as paths.Path tells it when it has more entries."""
    rests = {e.rest for e in entries}
    return entry.path + ("[…]" + entry.rest if entry.rest and len(rests) == 1 else "")


def is_below(path, paths):
    """Whether a path goes by a key through a dictionary that one of others tells whole, or is the
    first object of those of a class that one of them tells."""
    if any(p.replace(" objects below ", " ", 1) == path for p in paths if " objects below " in p):
        return True
    wholes = {p.partition("[…]")[0].partition(" ")[2] for p in paths if p.partition(" ")[0].isidentifier()}
    stems = (whole + mark for whole in wholes if whole for mark in ("['", '["'))
    return any(path.startswith(stem) or " " + stem in path for stem in stems)
