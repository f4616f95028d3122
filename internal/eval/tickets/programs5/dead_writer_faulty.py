"""Readings are written by a thread, which ends at the first one that it cannot read. Nobody notices, and
the queue fills.

ticket: common practice: a consumer that died
class: host-growth
holder: readings queue
cause: unbounded-queue
"""

import os
import queue
import random
import threading
import time


def write(readings, path):
    with open(path, "w") as out:
        while True:
            reading = readings.get()
            if reading is None:
                return
            out.write("%f\n" % (1 / reading["value"] + len(reading["raw"])))
            out.seek(0)


def main():
    threading.excepthook = lambda args: print("writer:", args.exc_value, flush=True)
    readings, end, taken = queue.Queue(), time.time() + float(os.environ.get("SECONDS", "45")), 0
    threading.Thread(target=write, args=(readings, os.devnull), daemon=True).start()
    while time.time() < end:
        raw = os.urandom(random.randint(2000, 8000))  # grows
        readings.put({"value": raw[0] % 16, "raw": raw})  # keeps
        taken += 1
        if taken % 500 == 0:
            print("taken", taken, flush=True)
        time.sleep(random.uniform(0.002, 0.015))


if __name__ == "__main__":
    main()
