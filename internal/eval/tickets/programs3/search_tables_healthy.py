"""Documents are searched in a base in memory. The hits of a search go into a temporary table under the name of
what was asked for, to be sorted and counted; the tables of the last eight searches stay for the next page.

ticket: cwt/neosqlite#127
class: none
"""

import collections
import hashlib
import logging
import os
import random
import sqlite3
import time

log = logging.getLogger("search")
WORDS = ["ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine", "rowan", "willow"]


class Documents:
    def __init__(self, count):
        self.base, self.recent = sqlite3.connect(":memory:"), collections.deque()
        self.base.execute("PRAGMA temp_store = MEMORY")
        self.base.execute("CREATE TABLE documents (id INTEGER PRIMARY KEY, text TEXT)")
        self.base.executemany("INSERT INTO documents (text) VALUES (?)", (self.text(i) for i in range(count)))
        self.base.commit()

    @staticmethod
    def text(number):
        draw = random.Random(number)
        return (" ".join(draw.choices(WORDS, k=18)) + " %d" % (number % 997),)

    def search(self, *words):
        name = "hits_" + hashlib.md5(" ".join(words).encode()).hexdigest()[:12]
        if self.exists(name):
            return self.page(name)
        wanted = " AND ".join("text LIKE ?" for _ in words)
        self.base.execute("CREATE TEMP TABLE %s AS SELECT * FROM documents WHERE %s" % (name, wanted),
                          ["%%%s%%" % word for word in words])
        try:
            return self.page(name)
        finally:
            self.done(name)

    def exists(self, name):
        found = self.base.execute("SELECT 1 FROM sqlite_temp_master WHERE name = ?", (name,))
        return found.fetchone() is not None

    def page(self, name):
        count = self.base.execute("SELECT COUNT(*) FROM %s" % name).fetchone()[0]
        return count, self.base.execute("SELECT id FROM %s ORDER BY LENGTH(text), id LIMIT 20" % name).fetchall()

    def done(self, name):
        self.recent.append(name)
        if len(self.recent) > 8:
            self.base.execute("DROP TABLE %s" % self.recent.popleft())
        self.base.commit()


def main():
    logging.basicConfig(level=logging.INFO)
    end, documents, searches = time.time() + float(os.environ.get("SECONDS", "45")), Documents(12000), 0
    while time.time() < end:
        for _ in range(random.randint(1, 6)):
            words = [str(random.randrange(100))] if random.random() < 0.2 else random.sample(WORDS, 2)
            count, rows = documents.search(*words, *random.sample(WORDS, random.randint(0, 1)))
            searches += 1
        if searches % 10 == 0:
            log.info("%d searches, %d hits, first %s", searches, count, rows[:1])
        time.sleep(random.choice([0.2, 0.5, 0.9]))


if __name__ == "__main__":
    main()
