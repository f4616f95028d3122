"""The futures of all observations are kept until the pool is closed, with what they returned.

ticket: simonsobs/sotodlib#884
class: host-growth
holder: jobs
cause: futures-kept
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor

END = time.time() + float(os.environ.get("SECONDS", "40"))


def preprocess(observation):
    return {"id": observation, "samples": [observation * 0.5 + n for n in range(2000)]}


def main():
    jobs = {}
    total = 0.0
    observation = 0
    with ThreadPoolExecutor(max_workers=2) as pool:
        while time.time() < END:
            observation += 1
            jobs[observation] = pool.submit(preprocess, observation)  # grows
            total += jobs[observation].result()["samples"][0]
            time.sleep(0.02)
    print(total)


main()
