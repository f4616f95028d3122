"""Stalls sell old postcards, and a search service finds cards that look like a given one. A small network from
torchvision turns each card into a vector for every patch; the index compares patches with patches. Stalls send a card
again whenever its photograph changes, and the index then puts the new vectors in the place of the old ones.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torchvision.models import shufflenet_v2_x0_5

CARDS, BATCH, SIDE = 160, 8, 192


class Patches(torch.nn.Module):
    """Card images in, unit vectors of their patches out."""

    def __init__(self):
        super().__init__()
        net = shufflenet_v2_x0_5(weights=None)
        self.stages = torch.nn.Sequential(
            net.conv1, net.maxpool, net.stage2, net.stage3, net.stage4, net.conv5)

    def forward(self, images):
        found = self.stages(images).flatten(2).transpose(1, 2)
        return torch.nn.functional.normalize(found, dim=-1)


class Index:
    """For each card the vectors of its patches."""

    def __init__(self):
        self.rows = {}

    def upsert(self, cards, vectors):
        for card, found in zip(cards, vectors):
            self.rows[card] = found.clone()

    def search(self, patches, most=5, among=40):
        """The cards that are most like these patches, out of some of the index."""
        scores = {}
        for card in random.sample(list(self.rows), min(among, len(self.rows))):
            scores[card] = (patches @ self.rows[card].T).amax(dim=1).mean()
        cards, values = list(scores), torch.stack(list(scores.values()))
        return [cards[place] for place in values.topk(min(most, len(cards))).indices.tolist()]

    def __len__(self):
        return len(self.rows)


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, index, searches = Patches().to(device).eval(), Index(), 0
    stock = list(range(CARDS))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for first in range(0, CARDS, BATCH):
        images = torch.rand(BATCH, 3, SIDE, SIDE, device=device)
        index.upsert(stock[first:first + BATCH], model(images))
    while time.time() < end:
        cards = random.sample(stock, BATCH)
        images = torch.rand(BATCH, 3, SIDE, SIDE, device=device)
        index.upsert(cards, model(images))
        for _ in range(random.randrange(1, 4)):
            query = model(torch.rand(1, 3, SIDE, SIDE, device=device))[0]
            best = index.search(query)
            searches += 1
        if searches % 7 == 0:
            print(f"{len(index)} cards, {searches} searches, the last one found {best}", flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
