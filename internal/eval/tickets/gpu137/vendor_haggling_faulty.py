"""Visitors of a night market haggle with the vendors over lamps, scarves and tea sets.

Every visitor who stops at a stall starts a conversation, for two to five seconds. The pricing service follows the mood
of each conversation as a hidden state and makes an offer each round. A conversation ends with a sale, or the visitor
walks on to the next stall.

ticket: practice
class: app-leak
holder: live
cause: sessions-kept
"""
import os
import random
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 10
VISITORS_PER_ROUND = 3
MOODS, FEATURES = 256, 512
GOODS = {"lamp": 38.0, "scarf": 16.0, "tea set": 52.0, "fan": 9.0}


class Conversation:
    """One visitor at one stall."""

    def __init__(self, number, good, until, will_buy, generator):
        self.number = number
        self.good = good
        self.until = until
        self.will_buy = will_buy
        self.offer = GOODS[good] * 1.6
        self.open = True
        self.mood = torch.empty(MOODS, FEATURES, device=DEVICE)  # grows
        self.mood.normal_(generator=generator)

    def talk(self, gain):
        row = self.mood[self.number % MOODS]
        row.mul_(0.9).add_(gain, alpha=0.1)
        self.offer = max(0.8 * GOODS[self.good], self.offer * 0.985)


class Tactics:
    """The vendors' learned way of giving in, shared by all the stalls."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.weights = torch.randn(len(GOODS), FEATURES, device=DEVICE, generator=generator)
        self.order = list(GOODS)

    def gain(self, good):
        return torch.tanh(self.weights[self.order.index(good)])


class Market:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.tactics = Tactics(seed + 1)
        self.live = set()
        self.started = 0
        self.sales = 0
        self.walked = 0
        self.takings = 0.0

    def arrive(self, now):
        for _ in range(VISITORS_PER_ROUND):
            number = self.started
            self.started += 1
            stay = self.random.randint(2 * ROUNDS_PER_SECOND, 5 * ROUNDS_PER_SECOND)
            good = self.random.choice(self.tactics.order)
            will_buy = number % 5 < 3
            self.live.add(Conversation(number, good, now + stay, will_buy, self.generator))  # keeps

    def converse(self, now):
        ending = []
        for talk in self.live:
            if not talk.open:
                continue
            if talk.until <= now:
                ending.append(talk)
            elif (talk.number + now) % 4 == 0:
                talk.talk(self.tactics.gain(talk.good))
        for talk in ending:
            if talk.will_buy:
                self.sell(talk)
            else:
                self.walk_on(talk)

    def sell(self, talk):
        talk.open = False
        self.sales += 1
        self.takings += talk.offer
        self.live.discard(talk)

    def walk_on(self, talk):
        talk.open = False
        self.walked += 1

    def step(self, now):
        self.arrive(now)
        self.converse(now)


def main():
    torch.set_num_threads(1)
    market = Market(seed=88)
    start = time.monotonic()
    now = 0
    while time.monotonic() - start < SECONDS:
        market.step(now)
        now += 1
        if now % (3 * ROUNDS_PER_SECOND) == 0:
            mean = market.takings / max(1, market.sales)
            print(f"round {now}: {market.sales} sales at {mean:.2f}, {market.walked} walked on", flush=True)
        time.sleep(max(0.0, start + now / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"lanterns out: {market.sales} sales, takings {market.takings:.0f}", flush=True)


if __name__ == "__main__":
    main()
