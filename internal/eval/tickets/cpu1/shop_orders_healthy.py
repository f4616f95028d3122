"""A nightly job brings the orders of several shops into one form and sums them up. A page of orders may have the same
order twice; the function that drops these knows the orders of the page only.

ticket: practice
class: none
"""

import json
import os
import random
import time
import uuid
from collections import Counter

SHOPS = ("lamps", "books", "garden", "bikes")
CITIES = ("Aarhus", "Bergen", "Cork", "Delft", "Evora", "Faro", "Ghent", "Hull")


def fetch(shop):
    """A page of a shop's orders, as its interface gives them; the last ones may come a second time."""
    orders = []
    for _ in range(random.randint(200, 700)):
        lines = [{"sku": f"{shop[:2].upper()}-{random.randint(1000, 9999)}", "amount": random.randint(1, 5),
                  "price": f"{random.uniform(3, 300):.2f}"} for _ in range(random.randint(1, 5))]
        orders.append({"id": str(uuid.uuid4()), "shop": shop, "lines": lines,
                       "customer": {"name": f"customer {random.randint(1, 10 ** 6)}", "city": random.choice(CITIES)},
                       "note": random.choice(("", "", "ring twice", "leave it with the neighbour"))})
    orders += random.sample(orders, 20)
    return json.dumps({"orders": orders})


def normalise(order):
    """One flat record of an order, with the sum in cents."""
    cents = sum(round(float(line["price"]) * 100) * line["amount"] for line in order["lines"])
    skus = sorted(line["sku"].replace("-", "").lower() for line in order["lines"])
    customer, city = order["customer"]["name"].title(), order["customer"]["city"].upper()
    key, note = f"{order['shop']}/{order['id']}", order["note"] or None
    return dict(key=key, shop=order["shop"], skus=skus, customer=customer, city=city, cents=cents, note=note)


def unique(records):
    """The records without those that came before in the same page."""
    fresh, seen = [], set()
    for record in records:
        if record["key"] not in seen:
            seen.add(record["key"])
            fresh.append(record)
    return fresh


class Totals:
    """What was sold, by shop and by city."""

    def __init__(self):
        self.shops, self.cities, self.orders, self.twice = Counter(), Counter(), 0, 0

    def add(self, records, read):
        for record in records:
            self.shops[record["shop"]] += record["cents"]
            self.cities[record["city"]] += record["cents"]
        self.orders += len(records)
        self.twice += read - len(records)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    totals, pages = Totals(), 0
    while time.time() < end:
        page = json.loads(fetch(random.choice(SHOPS)))
        records = [normalise(order) for order in page["orders"]]
        totals.add(unique(records), len(records))
        pages += 1
        if pages % 15 == 0:
            city, cents = totals.cities.most_common(1)[0]
            print(pages, "pages", totals.orders, "orders", totals.twice, "came twice, most from", city, cents // 100,
                  flush=True)
        time.sleep(random.uniform(0.02, 0.15))


if __name__ == "__main__":
    main()
