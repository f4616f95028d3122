"""The search of a library's web page: a small server on this machine answers with the books that fit the words, and
readers ask it. The answers given last, sixty-four of them, are remembered.

ticket: practice
class: none
"""

import functools
import http.client
import json
import os
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

WORDS = ("river", "winter", "empire", "garden", "letters", "north", "harbour", "silent", "machine", "island", "mother",
         "atlas", "honey", "stone", "theatre", "birds", "railway", "salt", "moon", "orchard", "bridge", "clock")


class Catalogue:
    """Books, and for each word the books that have it in their title."""

    def __init__(self, amount=6000):
        chance = random.Random(2)
        self.books, self.index = [], {word: set() for word in WORDS}
        for number in range(amount):
            title = chance.sample(WORDS, chance.randint(2, 5))
            self.books.append({"id": number, "title": " ".join(title).title(), "year": chance.randint(1890, 2022),
                               "shelf": f"{chance.choice('ABCDEFGH')}{chance.randint(1, 90)}"})
            for word in title:
                self.index[word].add(number)

    @functools.lru_cache(maxsize=64)
    def answer(self, words, order, page, size):
        found = set().union(*(self.index.get(word, ()) for word in words))
        key = (lambda book: -book["year"]) if order == "new" else (lambda book: book["title"])
        books = sorted((self.books[number] for number in found), key=key)
        shown = books[page * size:(page + 1) * size]
        cards = [f"<li id='b{book['id']}'><b>{book['title']}</b> <i>{book['year']}</i> at {book['shelf']}</li>"
                 for book in shown]
        html = "<ul>" + "\n".join(cards) + "</ul>"
        return json.dumps({"total": len(books), "books": shown, "html": html})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        asked = parse_qs(urlsplit(self.path).query)
        words = tuple(sorted(asked["q"][0].split()))
        body = self.server.catalogue.answer(words, asked["order"][0], int(asked["page"][0]), int(asked["size"][0]))
        body = body.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def reader(port, end, tally):
    connection, usual = http.client.HTTPConnection("127.0.0.1", port), ["moon", "river"]
    while time.time() < end:
        words = usual if random.random() < 0.2 else random.sample(WORDS, random.randint(2, 4))
        asked = {"q": " ".join(words), "order": random.choice(("new", "title")), "page": random.choice((0, 0, 1)),
                 "size": random.choice((400, 800, 1200))}
        connection.request("GET", "/search?" + urlencode(asked))
        reply = json.loads(connection.getresponse().read())
        tally["asked"] += 1
        tally["found"] += reply["total"]
        time.sleep(random.uniform(0.02, 0.2))
    connection.close()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    server, tally = ThreadingHTTPServer(("127.0.0.1", 0), Handler), {"asked": 0, "found": 0}
    server.daemon_threads, server.catalogue = True, Catalogue()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    readers = [threading.Thread(target=reader, args=(server.server_port, end, tally)) for _ in range(3)]
    for one in readers:
        one.start()
    while any(one.is_alive() for one in readers):
        time.sleep(1.5)
        print(tally["asked"], "asked", tally["found"] // max(tally["asked"], 1), "books an answer", flush=True)
    server.shutdown()


if __name__ == "__main__":
    main()
