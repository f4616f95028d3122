"""Udder health in a rotary milking parlour, from a heat camera.

Every place of the rotary has a heat camera under it.  The cows come round in
groups of twelve; for each cow a network turns the heat picture into a corrected
map and an inflammation index.  Both go into a small SQL database that lives in
the program, next to the animal's number and the milking.  The index of the
present milking is compared with the same cow's last one, and a cow whose index
has risen by much is sent to the side pen for a look.

ticket: practice
class: host-growth
holder: parlour_db
cause: database-in-memory buffer-without-bound
"""
import os
import sqlite3
import time

import torch
import torch.nn as nn

HERD = 96
GROUP = 12
SIDE = 256
PACE = 0.15

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

SCHEMA = """
create table milkings (
    cow integer not null,
    round integer not null,
    score real not null,
    heat blob not null
);
create index milkings_by_cow on milkings (cow, round);
"""


class UdderNet(nn.Module):
    """Corrects the heat picture and gives an index for the whole udder."""

    def __init__(self):
        super().__init__()
        self.correct = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 1, 5, padding=2),
        )
        self.index = nn.Sequential(
            nn.AvgPool2d(16),
            nn.Flatten(),
            nn.Linear((SIDE // 16) ** 2, 32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )

    def forward(self, pictures):
        corrected = pictures + self.correct(pictures)
        return corrected.squeeze(1), self.index(corrected).squeeze(1)


def heat_pictures(generator, cows):
    """What the cameras see: warm in the middle, with each animal's own level."""
    axis = torch.linspace(-1.0, 1.0, SIDE)
    warm = torch.exp(-2.0 * (axis[:, None] ** 2 + axis[None, :] ** 2))
    level = torch.tensor([0.8 + 0.004 * cow for cow in cows]).view(-1, 1, 1, 1)
    noise = 0.05 * torch.randn(len(cows), 1, SIDE, SIDE, generator=generator)
    return level * warm + noise


class Parlour:
    def __init__(self):
        torch.manual_seed(29)
        self.net = UdderNet().to(device).eval()
        self.parlour_db = sqlite3.connect(":memory:")
        self.parlour_db.executescript(SCHEMA)

    def last_milking(self, cow):
        """Index and peak of the heat map at the cow's last milking, if there was one."""
        row = self.parlour_db.execute(
            "select score, heat from milkings where cow = ? order by round desc limit 1", (cow,)
        ).fetchone()
        if row is None:
            return None
        score, heat = row
        peak = torch.frombuffer(bytearray(heat), dtype=torch.float16).float().max()
        return score, float(peak)

    def write_down(self, milking, cows, scores, maps):
        rows = []
        for cow, score, heat in zip(cows, scores, maps):
            rows.append((cow, milking, score, heat.tobytes()))  # grows
        with self.parlour_db:
            self.parlour_db.executemany("insert into milkings values (?, ?, ?, ?)", rows)  # keeps

    def milk(self, milking, cows, pictures):
        """Take one group round; gives the cows for the side pen."""
        with torch.inference_mode():
            maps, scores = self.net(pictures.to(device))
            maps = maps.half().cpu().numpy()
            scores = scores.tolist()
        side_pen = []
        for place, cow in enumerate(cows):
            last = self.last_milking(cow)
            if last is None:
                continue
            score, peak = last
            hotter = float(maps[place].max()) - peak
            if scores[place] - score > 0.004 or hotter > 0.1:
                side_pen.append(cow)
        self.write_down(milking, cows, scores, maps)
        return side_pen


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(2)
    parlour = Parlour()

    groups = 0
    looked_at = 0
    next_group = time.time()
    while time.time() < deadline:
        milking, part = divmod(groups, HERD // GROUP)
        cows = list(range(part * GROUP, (part + 1) * GROUP))
        side_pen = parlour.milk(milking, cows, heat_pictures(generator, cows))
        looked_at += len(side_pen)
        groups += 1
        if groups % 24 == 0:
            print(f"milking {milking}: {groups * GROUP} cows through, {looked_at} sent to the side pen, "
                  f"now {side_pen[:4]}", flush=True)
        next_group += PACE
        time.sleep(max(0.0, next_group - time.time()))

    parlour.parlour_db.close()
    print(f"parlour closed after {groups} groups, {looked_at} cows looked at", flush=True)


if __name__ == "__main__":
    main()
