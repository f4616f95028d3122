"""The future of an observation is dropped when its result was taken.

ticket: simonsobs/sotodlib#884
class: none
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
            jobs[observation] = pool.submit(preprocess, observation)
            total += jobs.pop(observation).result()["samples"][0]
            time.sleep(0.02)
    print(total)


main()
