"""
For the catalogue of a dog show the pedigrees of all dogs in a class are looked up in the stud book and
put together over five generations. Every four seconds the next class is called. Stewards then ask again
and again for single dogs of that class, for titles, breeders and common ancestors.

ticket: practice
class: none
"""
import os
import random
import time

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 15
CLASS_SECONDS = 4.0
DOGS_PER_CLASS = 350
GENERATIONS = 5
BREEDS = ("beagle", "borzoi", "collie", "pointer", "setter", "whippet", "spaniel", "poodle")
TITLES = ("", "", "", "Ch.", "Int. Ch.", "Jun. Ch.")
FIRST = ("Amber", "Bramble", "Cinder", "Drift", "Ember", "Fable", "Gale", "Harrow", "Indigo", "Juniper")
LAST = ("Meadow", "Hollow", "Heath", "Brook", "Thicket", "Moor", "Ridge", "Spinney", "Weald", "Fell")


class StudBook:
    """Gives out the entry of any dog, worked out from its number."""

    def __init__(self, seed):
        self.seed = seed
        rng = random.Random(seed)
        self.kennels = [f"{rng.choice(FIRST)} {rng.choice(LAST)} {number}" for number in range(150_000)]

    def parents(self, number):
        mixed = (number * 2654435761 + self.seed) % 1_000_000_007
        return mixed, (mixed * 40503 + 7) % 1_000_000_007

    def entry(self, number):
        title = TITLES[number % len(TITLES)]
        name = f"{title} {FIRST[number % 10]} {LAST[number // 10 % 10]} {number}".strip()
        kennel = self.kennels[number % len(self.kennels)]
        return {"name": name, "kennel": kennel, "whelped": (2012 + number % 12, 1 + number % 12)}


class PedigreeOffice:
    def __init__(self, seed=31):
        self.book = StudBook(seed)
        self._pedigrees = {}
        self.made = 0
        self.asked = 0

    def pedigree(self, show_class, number):
        self.asked += 1
        key = (show_class, number)
        known = self._pedigrees.get(key)
        if known is None:
            known = self.compile(number)
            self._pedigrees[key] = known
        return known

    def compile(self, number):
        self.made += 1
        rows = []
        row = [number]
        for _ in range(GENERATIONS):
            rows.append([self.book.entry(dog) for dog in row])
            row = [parent for dog in row for parent in self.book.parents(dog)]
        return {"dog": number, "rows": rows, "titles": self.count_titles(rows)}

    @staticmethod
    def count_titles(rows):
        return sum(1 for row in rows for dog in row if "Ch." in dog["name"])

    def call_class(self, show_class, numbers):
        self._pedigrees.clear()
        return max(self.pedigree(show_class, number)["titles"] for number in numbers)


class ShowDay:
    """The classes in their order and the questions of the stewards."""

    def __init__(self, seed=83):
        self.rng = random.Random(seed)
        self.office = PedigreeOffice()
        self.class_number = -1
        self.name = ""
        self.dogs = []
        self.shared = 0

    def next_class(self):
        self.class_number += 1
        breed = BREEDS[self.class_number % len(BREEDS)]
        self.name = f"{breed} {self.class_number}"
        self.dogs = [self.rng.randrange(1_000_000_000) for _ in range(DOGS_PER_CLASS)]
        return self.office.call_class(self.name, self.dogs)

    def question(self):
        one = self.office.pedigree(self.name, self.rng.choice(self.dogs))
        other = self.office.pedigree(self.name, self.rng.choice(self.dogs))
        kennels = {dog["kennel"] for dog in one["rows"][-1]}
        if kennels & {dog["kennel"] for dog in other["rows"][-1]}:
            self.shared += 1
        return one["titles"] - other["titles"]


def main():
    day = ShowDay()
    start = time.monotonic()
    next_class = start
    next_line = start + 2.0
    most = 0
    while True:
        now = time.monotonic()
        if now - start >= SECONDS:
            break
        if now >= next_class:
            next_class += CLASS_SECONDS
            most = day.next_class()
        for _ in range(5):
            day.question()
        if now >= next_line:
            next_line += 4.0
            print(
                f"{now - start:6.1f} s  class {day.name}  most titles {most}  asked {day.office.asked}  "
                f"kennels in common {day.shared}",
                flush=True,
            )
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"{day.class_number + 1} classes, {day.office.asked} pedigrees shown", flush=True)


if __name__ == "__main__":
    main()
