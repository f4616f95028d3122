"""Finds out during the day what the customers of a grocer buy together.

The tills send receipts of up to twelve articles.  Every few moments the desk goes over the day's
receipts from the opening on, gives later ones more weight, and counts how often each of the 256
staple articles lay in one basket with each of the 1024 articles on sale.  The strongest pairs, set
against what chance would give, go to the screens at the shelf ends.  Orders left overnight at the
web shop count as the first receipts of the day.

ticket: practice
class: none
"""
import os
import time

import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
ARTICLES = 1024
STAPLES = 256
BASKET = 12
OVERNIGHT = 4000
DAY = 40000
PER_ROUND = 60
SLAB = 4096


class Tills:
    """Draws baskets: a staple or two, things that go with them, and whatever was on offer."""

    def __init__(self, seed):
        self.dice = torch.Generator().manual_seed(seed)
        self.goes_with = torch.randint(ARTICLES, (STAPLES, 4), generator=self.dice)

    def receipts(self, count):
        staples = torch.randint(STAPLES, (count, 2), generator=self.dice)
        partner = torch.randint(4, (count, 2, 3), generator=self.dice)
        fitting = self.goes_with[staples].gather(2, partner).reshape(count, 6)
        others = torch.randint(ARTICLES, (count, 4), generator=self.dice)
        return torch.cat([staples, fitting, others], dim=1)


class PairDesk:
    def __init__(self):
        self.lines = torch.zeros(DAY, BASKET, dtype=torch.long, device=DEVICE)
        self.places = torch.arange(DAY, device=DEVICE, dtype=torch.float32)
        self.slab = torch.zeros(SLAB, ARTICLES, device=DEVICE)
        self.count = 0

    def open_day(self, receipts):
        self.count = 0
        self.take(receipts)

    def take(self, receipts):
        after = self.count + len(receipts)
        self.lines[self.count:after] = receipts.to(DEVICE)
        self.count = after

    def full(self):
        return self.count + PER_ROUND > DAY

    def weights(self, start, stop):
        """Later receipts weigh more; a receipt from the opening still has a fifth of the say."""
        return 0.2 + 0.8 * self.places[start:stop, None] / self.count

    def tally(self):
        """Weighted number of baskets for every staple and article, and for every article alone."""
        together = torch.zeros(STAPLES, ARTICLES, device=DEVICE)
        alone = torch.zeros(ARTICLES, device=DEVICE)
        for start in range(0, self.count, SLAB):
            stop = min(start + SLAB, self.count)
            weight = self.weights(start, stop)
            baskets = self.slab.zero_()
            baskets[:stop - start].scatter_(1, self.lines[start:stop], 1.0)
            baskets[:stop - start].mul_(weight.sqrt())
            together.addmm_(baskets[:, :STAPLES].T, baskets)
            alone.addmv_(baskets[:stop - start].T, weight.sqrt().squeeze(1))
        return together, alone

    def strongest(self, how_many=5):
        together, alone = self.tally()
        total = self.weights(0, self.count).sum()
        by_chance = alone[:STAPLES, None] * alone[None, :] / total
        lift = (together - by_chance) / (by_chance + 5.0)
        lift.diagonal().zero_()
        best, place = lift.flatten().topk(how_many)
        return [(spot // ARTICLES, spot % ARTICLES, value)
                for spot, value in zip(place.tolist(), best.tolist())]


@torch.no_grad()
def trade(closing):
    tills = Tills(seed=31)
    desk = PairDesk()
    desk.open_day(tills.receipts(OVERNIGHT))
    rounds = 0
    while time.time() < closing:
        if desk.full():
            desk.open_day(tills.receipts(OVERNIGHT))
        desk.take(tills.receipts(PER_ROUND))
        pairs = desk.strongest()
        rounds += 1
        if rounds % 15 == 0:
            staple, article, value = pairs[0]
            print(f"{desk.count} receipts: staple {staple} goes with {article} (lift {value:.2f})",
                  flush=True)
        time.sleep(0.2)
    print(f"closed after {rounds} rounds", flush=True)


def main():
    closing = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(5)
    trade(closing)


if __name__ == "__main__":
    main()
