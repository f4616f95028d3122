"""Reads blazons, the descriptions of coats of arms in the words of heraldry, and counts the tinctures and charges in
them. The parser is a packrat: it notes what each rule has found at each place of the text, so that nothing in
it is parsed twice when it has to go back.

ticket: practice
class: none
"""

import os
import random
import time
from collections import Counter

TINCTURES = "azure", "gules", "sable", "vert", "purpure", "or", "argent", "ermine"
CHARGES = "lion", "eagle", "mullet", "rose", "tower", "martlet", "garb", "escallop"
ORDINARIES = "fess", "bend", "chevron", "pale", "cross", "saltire"
NUMBERS = "a", "two", "three", "five", "six"
PLACES = "in chief", "in base", "in dexter", "in sinister"

# A rule is a choice of sequences; what is no rule is a word of the text.
GRAMMAR = {
    "blazon": [("party", ",", "items"), ("field", ",", "items"), ("field",)],
    "party": [("per", "ordinary", "tincture", "and", "tincture")],
    "field": [("tincture", "semy", "of", "charge", "tincture"), ("tincture",)],
    "items": [("item", ",", "items"), ("item", "and", "items"), ("item",)],
    "item": [("place", "group"), ("group", "between", "group"), ("group",)],
    "group": [("number", "charge", "tincture"), ("number", "ordinary", "tincture")],
    "place": [tuple(place.split()) for place in PLACES],
    "tincture": [(word,) for word in TINCTURES],
    "charge": [(word,) for word in CHARGES],
    "ordinary": [(word,) for word in ORDINARIES],
    "number": [(word,) for word in NUMBERS],
}


def parse(rule, words, at=0, memo=None):
    """The tree of what the rule finds at this place and where that ends, or None."""
    if memo is None:
        memo = {}
    key = rule, words, at
    if key not in memo:
        memo[key] = first(rule, words, at, memo)
    return memo[key]


def first(rule, words, at, memo):
    for sequence in GRAMMAR[rule]:
        parts, place = [], at
        for part in sequence:
            if part in GRAMMAR:
                found = parse(part, words, place, memo)
            else:
                found = (part, place + 1) if words[place : place + 1] == (part,) else None
            if found is None:
                break
            parts.append(found[0])
            place = found[1]
        else:
            return (rule, parts), place
    return None


def leaves(tree):
    rule, parts = tree
    for part in parts:
        if isinstance(part, tuple):
            yield from leaves(part)
        else:
            yield rule, part


def blazon():
    """A blazon as a herald might write it."""
    def group(things=CHARGES + ORDINARIES):
        return f"{random.choice(NUMBERS)} {random.choice(things)} {random.choice(TINCTURES)}"

    items = [random.choice([group(), f"{random.choice(PLACES)} {group()}", f"{group(ORDINARIES)} between {group()}"])
             for _ in range(random.randint(2, 6))]
    return f"{random.choice(TINCTURES)} , {' , '.join(items[:-1])} and {items[-1]}"


def main():
    counts, shields = Counter(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(60):
            words = tuple(blazon().split())
            tree, stop = parse("blazon", words)
            if stop == len(words):
                shields += 1
                counts.update(word for rule, word in leaves(tree) if rule in ("tincture", "charge"))
        if random.random() < 0.1:
            common = ", ".join(f"{word} {count}" for word, count in counts.most_common(4))
            print(f"{shields} shields: {common}", flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
