"""The gangways of a ferry post a picture of everyone who comes aboard to this server. The pictures are there so
that the crew can look at the last seconds: they lie in an SQLite database in memory, and after each few pictures
the server purges those that are older than three seconds.

ticket: practice
class: host-growth
holder: db Pictures pictures Connection
cause: entries-left
"""

import http.client
import os
import random
import sqlite3
import threading
import time
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEPT = 3.0  # seconds
GANGWAYS = "bow", "stern", "cars"


class Pictures:
    def __init__(self):
        self.db = sqlite3.connect(":memory:", check_same_thread=False)
        self.db.execute("CREATE TABLE pictures (gangway TEXT, taken TIMESTAMP, jpeg BLOB)")
        self.db.execute("CREATE INDEX by_time ON pictures (taken)")
        self.lock, self.added = threading.Lock(), 0

    def add(self, gangway, jpeg):
        taken = datetime.now(timezone.utc).isoformat()
        with self.lock, self.db:
            self.db.execute("INSERT INTO pictures VALUES (?, ?, ?)", (gangway, taken, jpeg))  # grows keeps
            self.added += 1
            if self.added % 10 == 0:
                self.purge()

    def purge(self):
        oldest = time.time() - KEPT
        self.db.execute("DELETE FROM pictures WHERE taken < ?", (oldest,))

    def latest(self, gangway):
        with self.lock:
            query = "SELECT jpeg FROM pictures WHERE gangway = ? ORDER BY taken DESC LIMIT 1"
            row = self.db.execute(query, (gangway,)).fetchone()
        return row[0] if row else None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        jpeg = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.pictures.add(self.path.strip("/"), jpeg)
        self.answer(204)

    def do_GET(self):
        jpeg = self.server.pictures.latest(self.path.strip("/"))
        self.answer(200 if jpeg else 404, jpeg or b"")

    def answer(self, status, body=b""):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def gangway(name, port, end):
    """People come in groups, and each is photographed."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    while time.time() < end:
        for _ in range(random.randint(1, 5)):
            connection.request("POST", f"/{name}", os.urandom(random.randint(60_000, 140_000)))
            connection.getresponse().read()
        time.sleep(random.uniform(0.1, 0.3))
    connection.close()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.pictures = Pictures()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        people = [threading.Thread(target=gangway, args=(name, port, end)) for name in GANGWAYS]
        for thread in people:
            thread.start()
        while time.time() < end:
            time.sleep(1.5)
            latest = [len(server.pictures.latest(name) or b"") for name in GANGWAYS]
            print(server.pictures.added, "people aboard, latest pictures of", latest, "bytes", flush=True)
        for thread in people:
            thread.join()
        server.shutdown()


if __name__ == "__main__":
    main()
