#!/usr/bin/env python3
"""What the looks at the ages of an allocator's blocks cost, and what they found.

Reads run folders that `gpumem run` or verify.sh wrote on a machine with a GPU. A line a
process: how many looks there were, what they took of the time from the first to the
last (at most .1 % is meant) and the longest, and of each generation but the first and
the last, MiB of survivors at the last look. The verdict is that of the run.

Usage: ages.py FOLDER...
"""

import json
import pathlib
import sys

MIB = 1 << 20


def looks(folder):
    """{pid: [(ms, detail)]} of a run folder."""
    found = {}
    with open(folder / "events.jsonl") as lines:
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                continue  # cut by a kill
            if event.get("kind") == "generations":
                found.setdefault(event.get("pid", 0), []).append((event["t_ms"], event["detail"]))
    return found


def describe(folder):
    verdict = json.loads((folder / "verdict.json").read_text())
    says = "%s by %s" % (verdict["verdict"], verdict.get("rests_on") or "trends")
    for pid, told in sorted(looks(folder).items()):
        cost = [detail.get("cost_us", 0) for _, detail in told]
        age = told[-1][1]["generations"][0]["ago_ms"] + 2000  # the first look comes after 2 s
        stay = ["%.1f" % (g["bytes"] / MIB) for g in told[-1][1]["generations"][1:-1]]
        blocks = sum(g["count"] for g in told[-1][1]["generations"])
        print(
            "%-40s %d: %d looks, %.3f %% of the time, longest %.1f ms, %d blocks; survivors %s MiB; %s"
            % (folder.name, pid, len(told), sum(cost) / age / 10, max(cost) / 1000, blocks, " ".join(stay), says)
        )


for name in sys.argv[1:]:
    folder = pathlib.Path(name)
    if (folder / "events.jsonl").exists() and (folder / "verdict.json").exists():
        describe(folder)
