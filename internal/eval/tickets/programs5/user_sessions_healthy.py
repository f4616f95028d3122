"""A client of a service opens a session of requests for each user, and keeps those of the last thirty users.

ticket: psf/requests: sessions never closed
class: none
"""

import os
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests


class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        body = os.urandom(200)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Client:
    def __init__(self, address):
        self.address, self.sessions = address, {}

    def session(self, user):
        if user not in self.sessions:
            session = requests.Session()
            session.headers["Authorization"] = "Bearer %x" % random.getrandbits(4096)
            self.sessions[user] = session
            if len(self.sessions) > 30:
                self.sessions.pop(next(iter(self.sessions))).close()
        return self.sessions[user]

    def call(self, user):
        return self.session(user).get(self.address, headers={"Connection": "close"}).content


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = Client("http://127.0.0.1:%d/" % server.server_port)
    end, calls = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        client.call("user%d" % random.randrange(1 << 30))
        calls += 1
        if calls % 200 == 0:
            print("calls", calls, flush=True)
        time.sleep(random.uniform(0.005, 0.03))
    server.shutdown()


if __name__ == "__main__":
    main()
