"""A timer whose handler raises, while steps are being told all the time."""

import signal

import gpumem


class Expired(Exception):
    pass


raised = caught = 0


def expire(*_):
    global raised
    raised += 1
    raise Expired()


signal.signal(signal.SIGALRM, expire)
for _ in range(200):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005)
        while True:
            gpumem.step()
    except Expired:
        caught += 1
print(raised == caught == 200)
