"""A program that keeps secrets nowhere: in its arguments, in those of its children,
in its marks, in names. Each has zq and two digits in it."""

import ctypes
import json
import os
import socket
import subprocess
import sys
import time

HELLO = {
    "agent": "test", "device": "GPU --token=zq60", "driver": "driver https://u:zq61@h.example.org/",
    "name": "worker password=zq62", "versions": {"lib": "1.0 ghp_zq63abcdefghijklmnopqrst0123"},
}
MARKS = [
    {"kind": "phase", "name": "load --api-key=zq64"},
    {"kind": "scope", "name": "open postgres://u:zq65@h/db"},
    {"kind": "statement", "name": "connect(password='zq66')", "at": "https://u:zq67@h/x.py:4"},
    {"kind": "event", "name": "Authorization: Bearer zq68abc", "detail": {"password": "zq69", "n": 1, "deep": [{"api_key": ["zq70"]}]}},
    {"kind": "event", "name": "sent", "detail": {"line": "curl -u bob:zq71 https://h/", "secret": {"inner": "zq72"}}},
    {"kind": "warning", "name": "cannot run PGPASSWORD=zq73 psql"},
    {"kind": "sites", "detail": {"sites": [{"site": "https://u:zq74@h/train.py:7 f", "bytes": 1 << 20, "count": 1}]}},
    {"kind": "holders", "detail": {"holders": [{"path": "cache['xoxb-zq75-123456789012']", "bytes": 1 << 20, "count": 1}]}},
    {"kind": "made-up token=zq76", "name": "eyJhbGciOiJIzq77.eyJzdWIiOiIxIn0x.abcdef-ghi"},
    {"kind": "event", "name": "key", "at": "glpat-zq78abcdefghij0123", "detail": "AKIAZQ79ABCDEFGHIJ23"},
]


def agent():
    """Speaks the protocol without the agent."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(os.environ["GPUMEM_AGENT"])
    say = lambda what: line.sendall(json.dumps(what).encode() + b"\n")
    say({"hello": dict(HELLO, v=1, pid=os.getpid())})
    for mark in MARKS:
        say({"mark": dict(mark, t_ns=time.monotonic_ns())})
    say({"sample": {"t_ns": time.monotonic_ns(), "step": 1, "pool_live_bytes": 1 << 20}})
    wait()


def wait():
    end = time.monotonic() + 60
    while not os.path.exists("done") and time.monotonic() < end:
        time.sleep(0.05)


def main():
    ctypes.CDLL(None).prctl(15, b"pw=zq50", 0, 0, 0)
    here = os.path.abspath(__file__)
    children = [
        subprocess.Popen(["sh", "-c", "PGPASSWORD=zq51 sleep 60; mysql -uroot -pzq52 db; curl -H 'X-Api-Key: zq53' https://u:zq54@h/"]),
        subprocess.Popen(["bash", "-c", "exec -a 'server: worker --token=zq55 of 4' sleep 60"]),
        subprocess.Popen(["sh", "-c", "sh -c 'export AWS_SECRET_ACCESS_KEY=zq56; sshpass -p zq57 sleep 60; sleep 60' x --secret zq58; true"]),
        subprocess.Popen(["mysqldump", "-I", "-c", "import time; time.sleep(60)", "-pzq59"], executable=sys.executable),
        subprocess.Popen([sys.executable, "-I", here, "agent"]),
    ]
    globals()["ghp_zq80abcdefghijklmnopqrst0123"] = kept = []
    for _ in range(40):
        kept.append(bytearray(1 << 20))
        time.sleep(0.03)
    open("ready", "w").close()
    wait()
    for child in children:
        child.kill()


if __name__ == "__main__":
    agent() if sys.argv[-1] == "agent" else main()
