"""A web server gives a session to who has no cookie. Sessions of more than two seconds ago are dropped.

ticket: common practice: sessions in a dictionary
class: none
"""

import os
import random
import threading
import time
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sessions = {}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        key = self.headers.get("Cookie", "")
        if key not in sessions:
            key = uuid.uuid4().hex
            sessions[key] = {"at": time.time(), "cart": [], "page": os.urandom(20000)}
            for old in [k for k, s in list(sessions.items()) if s["at"] < time.time() - 2]:
                sessions.pop(old, None)
        self.send_response(200)
        self.send_header("Set-Cookie", key)
        self.end_headers()
        self.wfile.write(b"welcome")

    def log_message(self, *args):
        pass


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = "http://127.0.0.1:%d/" % server.server_port
    end, asked = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        urllib.request.urlopen(address).read()
        asked += 1
        if asked % 300 == 0:
            print("asked", asked, flush=True)
        time.sleep(random.uniform(0.005, 0.03))
    server.shutdown()


if __name__ == "__main__":
    main()
