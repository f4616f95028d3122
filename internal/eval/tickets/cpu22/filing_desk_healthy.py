"""The filing desk of a district court takes in pleadings as they come by wire.  Each filing lies on the desk until a
clerk has looked at it; then it is entered on the docket, sent back for a missing fee, or consolidated with the lead
case, for which only its caption counts.  The desk counts the pages and checks the seals.

ticket: practice
class: none
"""
import collections
import os
import random
import time
import zlib

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 15
FILINGS_A_ROUND = 40
BACKLOG = 1500
LEAD_CASES = 12
WORDS = ("plaintiff", "defendant", "motion", "exhibit", "hereby", "moves", "court", "order", "relief", "grant", "stay")


class Filing:
    """One pleading: the text of its caption and brief, and the scanned exhibit."""

    __slots__ = ("number", "caption", "brief", "exhibit", "seal", "fee_paid", "lead")

    def __init__(self, number, rng):
        self.number = number
        self.caption = f"In re matter {number}"
        self.brief = (" ".join(rng.choices(WORDS, k=20)) + ". ") * rng.randint(10, 50)
        self.exhibit = bytearray(rng.randbytes(rng.randint(6_000, 18_000)))
        self.seal = zlib.crc32(self.exhibit)
        self.fee_paid = rng.random() < 0.85
        self.lead = rng.randrange(LEAD_CASES) if rng.random() < 0.5 else None


class LeadCase:
    """A case with which others are heard together."""

    def __init__(self, number):
        self.number = number
        self.captions = collections.deque(maxlen=20)
        self.members = 0

    def join(self, filing):
        self.captions.append(filing.caption)
        self.members += 1


class Docket:
    """What the public sees: numbers and page counts of the last entries."""

    def __init__(self):
        self.entries = collections.deque(maxlen=200)
        self.pages = 0

    def enter(self, filing):
        pages = 1 + len(filing.brief) // 1800 + len(filing.exhibit) // 4000
        self.entries.append((filing.number, pages))
        self.pages += pages


class FilingDesk:
    """Takes the filings in and works them off in the order in which they came."""

    def __init__(self):
        self._desk = {}
        self.line = collections.deque()
        self.docket = Docket()
        self.leads = [LeadCase(n) for n in range(LEAD_CASES)]
        self.outcomes = collections.Counter()

    def receive(self, filing):
        self._desk[filing.number] = filing
        self.line.append(filing.number)

    def handle(self, number):
        filing = self._desk[number]
        if zlib.crc32(filing.exhibit) != filing.seal:
            raise ValueError(f"seal of {number} is broken")
        if not filing.fee_paid:
            self.outcomes["returned"] += 1
            return self.clear(number)
        if filing.lead is not None:
            self.leads[filing.lead].join(filing)
            self.outcomes["consolidated"] += 1
            return self.clear(number)
        self.docket.enter(filing)
        self.outcomes["entered"] += 1
        return self.clear(number)

    def clear(self, number):
        del self._desk[number]

    def work(self):
        while len(self.line) > BACKLOG:
            self.handle(self.line.popleft())


def main():
    rng = random.Random(2205)
    desk = FilingDesk()
    number = 0
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        for _ in range(FILINGS_A_ROUND):
            number += 1
            desk.receive(Filing(number, rng))
        desk.work()
        rounds += 1
        if rounds % (ROUNDS_A_SECOND * 3) == 0:
            told = "  ".join(f"{name} {count}" for name, count in sorted(desk.outcomes.items()))
            print(f"received {number}  {told}  pages {desk.docket.pages}", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    largest = max(desk.leads, key=lambda lead: lead.members)
    print(f"desk closes: {number} filings, lead case {largest.number} has {largest.members} members", flush=True)


if __name__ == "__main__":
    main()
