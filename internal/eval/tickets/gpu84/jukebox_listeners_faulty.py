"""Chooses the next song for the people who stand around six jukeboxes.

People come to a jukebox, log in with their phone, hear a few songs and go.  For each of them the
service has a short history of the songs they lingered over, as a ring of song vectors.  Every tick
the songs now playing go into the rings, all histories are attended over in one batch, and each
jukebox gets the song that pleases its crowd best.

ticket: practice
class: app-leak
holder: tastes
cause: entries-left
"""
import itertools
import os
import random
import time

import torch
import torch.nn.functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
VENUES = ("harbour", "station", "diner", "arcade", "campus", "ballroom")
CROWD = 40
RING = 40
WIDTH = 512
SONGS = 3000


class Catalogue:
    def __init__(self):
        self.vectors = F.normalize(torch.randn(SONGS, WIDTH), dim=1).to(DEVICE)
        self.query = (torch.randn(WIDTH, WIDTH) / WIDTH ** 0.5).to(DEVICE)

    def best_for(self, histories, playing):
        """One song for a crowd, from the histories of all who stand there."""
        asked = self.vectors[playing] @ self.query
        weight = torch.softmax(histories @ asked, dim=1)
        wishes = F.normalize((histories * weight[..., None]).sum(dim=1), dim=1)
        scores = (wishes @ self.vectors.T).mean(dim=0)
        scores[playing] = -1.0
        return int(scores.topk(8).indices[random.randrange(8)])


class Crowds:
    """Who stands where, since when, and what each of them has liked so far."""

    def __init__(self, catalogue):
        self.catalogue = catalogue
        self.numbers = itertools.count(1)
        self.present = {venue: [] for venue in VENUES}
        self.since = {}
        self.tastes = {}
        for venue in VENUES:
            for _ in range(CROWD):
                self.join(venue, tick=0)

    def join(self, venue, tick):
        listener = next(self.numbers)
        liked = torch.randint(SONGS, (RING,)).to(DEVICE)
        self.present[venue].append(listener)
        self.since[listener] = tick
        ring = self.catalogue.vectors[liked]  # grows
        self.tastes[venue, listener] = ring  # keeps
        return listener

    def leave(self, venue, listener, tick):
        self.present[venue].remove(listener)
        self.tastes.pop(listener, None)
        return tick - self.since.pop(listener)

    def heard(self, venue, song, tick):
        slot = tick % RING
        for listener in self.present[venue]:
            if random.random() < 0.5:
                self.tastes[venue, listener][slot].copy_(self.catalogue.vectors[song])

    def histories(self, venue):
        return torch.stack([self.tastes[venue, listener] for listener in self.present[venue]])


@torch.no_grad()
def play_tick(catalogue, crowds, playing, tick):
    stays = []
    for venue in VENUES:
        song = playing[venue]
        crowds.heard(venue, song, tick)
        playing[venue] = catalogue.best_for(crowds.histories(venue), song)
        for listener in random.sample(crowds.present[venue], 4):
            stays.append(crowds.leave(venue, listener, tick))
            crowds.join(venue, tick)
    return sum(stays) / len(stays)


def main():
    last_call = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(45)
    random.seed(78)
    catalogue = Catalogue()
    crowds = Crowds(catalogue)
    playing = {venue: random.randrange(SONGS) for venue in VENUES}
    tick = 0
    stay = 0.0
    while time.time() < last_call:
        tick += 1
        stay = 0.95 * stay + 0.05 * play_tick(catalogue, crowds, playing, tick)
        if tick % 40 == 0:
            here = sum(len(people) for people in crowds.present.values())
            print(f"tick {tick}: {here} listeners, mean stay {stay:.1f} songs, "
                  f"{VENUES[tick % 6]} hears no. {playing[VENUES[tick % 6]]}", flush=True)
        time.sleep(0.1)
    print(f"lights out after {tick} ticks", flush=True)


if __name__ == "__main__":
    main()
