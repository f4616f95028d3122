"""Each job has what it logs kept in a text, for its page. Its handler is taken off the logger at its end.

ticket: common practice: logging handlers added again
class: none
"""

import io
import logging
import os
import random
import time

log = logging.getLogger("jobs")
log.setLevel(logging.DEBUG)
log.propagate = False


def run_job(number):
    page = io.StringIO()
    handler = logging.StreamHandler(page)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    for part in range(random.randint(10, 30)):
        log.debug("job %d part %d: %s", number, part, "x" * random.randint(200, 400))
        time.sleep(0.005)
    log.removeHandler(handler)
    return len(page.getvalue())


def main():
    end, number = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        number += 1
        size = run_job(number)
        if number % 20 == 0:
            print("job", number, size, flush=True)


if __name__ == "__main__":
    main()
