"""A service on HTTP forecasts the waves at a buoy: a request names the hours and gets the median height of the first
four. The law wants every member of the ensemble on record, so a thread of its own packs them and hands them to the
archive, which takes its time.

ticket: practice
class: host-growth
holder: records Audit queue
cause: unbounded-queue
"""

import json
import os
import queue
import random
import threading
import time
import urllib.request
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import torch
from torch import nn

STATE, MEMBERS = 24, 4096


class Waves(nn.Module):
    """One hour's step for every member of the ensemble."""

    def __init__(self):
        super().__init__()
        self.step, self.height = nn.Linear(STATE, STATE), nn.Linear(STATE, 1)

    @torch.inference_mode()
    def forward(self, hours):
        state = torch.randn(MEMBERS, STATE, device=self.height.weight.device)
        heights = []
        for _ in range(hours):
            state = torch.tanh(self.step(state) + 0.3 * torch.randn_like(state))
            heights.append(self.height(state)[:, 0].exp())
        return torch.stack(heights)


class Audit:
    def __init__(self):
        self.records = queue.Queue()
        self.archived = 0
        threading.Thread(target=self.archive, daemon=True).start()

    def note(self, ensemble):
        self.records.put(ensemble)  # keeps

    def archive(self):
        while True:
            packed = zlib.compress(self.records.get().tobytes(), 1)
            time.sleep(0.3 + len(packed) / 100e6)
            self.archived += 1


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        hours = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["hours"]
        ensemble = self.server.waves(hours).cpu().numpy()  # grows
        self.server.audit.note(ensemble)
        body = json.dumps({"median": np.median(ensemble[:4], axis=1).tolist()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.waves, server.audit = Waves().to(device).eval(), Audit()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url, asked = f"http://127.0.0.1:{server.server_port}/forecast", 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        body = json.dumps({"hours": random.randint(24, 96)}).encode()
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=30) as answer:
            median = json.load(answer)["median"]
        asked += 1
        if asked % 20 == 0:
            print(f"{asked} forecasts, next hour {median[0]:.2f} m, {server.audit.archived} archived", flush=True)
        time.sleep(random.uniform(0.02, 0.08))
    server.shutdown()


if __name__ == "__main__":
    main()
