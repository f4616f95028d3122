"""A club's stamp albums can be searched by picture. Collectors edit their albums all the time, and each edit makes a
new revision, whose pages go through a ResNet into the store of feature maps. A search compares the maps of a
photographed page with the current revision of each album.

ticket: practice
class: app-leak
holder: store Store maps
cause: cache-without-bound entries-left
"""

import os
import random
import time

import torch
from torch.nn import functional as F
from torchvision.models import resnet18
from torchvision.models.feature_extraction import create_feature_extractor

ALBUMS, PAGES, SIDE = 24, 12, 160


class Store:
    """The feature maps of the albums' pages, by album and revision."""

    def __init__(self):
        self.maps = {}
        self.revisions = {}

    def put(self, album, revision, maps):
        self.maps[album, revision] = maps  # keeps
        self.revisions[album] = revision

    def current(self, album):
        return self.maps[album, self.revisions[album]]

    def next_revision(self, album):
        return self.revisions.get(album, 0) + 1


class Indexer:
    def __init__(self, device):
        network = resnet18(weights=None).eval()
        self.extractor = create_feature_extractor(network, {"layer2": "maps"}).to(device)
        self.device = device

    @torch.no_grad()
    def features(self, pages):
        return self.extractor(pages.to(self.device))["maps"]  # grows


def scan(pages):
    """Scanned pages: coloured stamps on a light ground."""
    images = torch.full((pages, 3, SIDE, SIDE), 0.9)
    for image in images:
        for _ in range(6):
            top, left = random.randrange(SIDE - 30), random.randrange(SIDE - 24)
            image[:, top : top + 30, left : left + 24] = torch.rand(3, 1, 1)
    return images


def search(store, maps):
    """The album with the page that is most like this one."""
    wanted = F.normalize(maps.flatten(1), dim=1)
    likeness = {}
    for album in store.revisions:
        pages = F.normalize(store.current(album).flatten(1), dim=1)
        likeness[album] = (pages @ wanted.T).max().item()
    return max(likeness, key=likeness.get)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    store, indexer = Store(), Indexer(device)
    edits = searches = 0
    for album in range(ALBUMS):
        store.put(album, store.next_revision(album), indexer.features(scan(PAGES)))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for album in random.sample(range(ALBUMS), random.randint(1, 4)):
            store.put(album, store.next_revision(album), indexer.features(scan(PAGES)))
            edits += 1
        found = search(store, indexer.features(scan(1)))
        searches += 1
        if searches % 10 == 0:
            print(f"{edits} edits, {searches} searches, the last found album {found}", flush=True)
        time.sleep(random.uniform(0.15, 0.4))


if __name__ == "__main__":
    main()
