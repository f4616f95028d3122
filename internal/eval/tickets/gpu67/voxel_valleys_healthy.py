"""Endless valleys for the game, built on the GPU so the game thread can sleep. The player flies along, chunks come into
view and get a mesh, near ones in full detail and far ones coarse. The meshes sit in normal memory, because that is
where the engine takes them from, and chunks that drop out of view are unloaded.

ticket: practice
class: none
"""

import math
import os
import random
import time

import torch

VIEW = 6                   # chunks the player can see in each direction
DETAIL = [97, 49, 25]      # vertices along a side, by level
CHUNK = 64.0


def level_of(dist):
    if dist <= 2:
        return 0
    if dist <= 4:
        return 1
    return 2


class Terrain:
    def __init__(self, seed, device):
        gen = torch.Generator().manual_seed(seed)
        self.freq = (torch.randn(24, 2, generator=gen) * torch.logspace(-3, -1, 24)[:, None]).to(device)
        self.phase = (torch.rand(24, generator=gen) * 2 * math.pi).to(device)
        self.amp = (60.0 / torch.arange(1, 25)).to(device)
        self.device = device

    @torch.no_grad()
    def mesh(self, cx, cz, level):
        n = DETAIL[level]
        side = torch.linspace(0, CHUNK, n, device=self.device)
        z, x = torch.meshgrid(side + cz * CHUNK, side + cx * CHUNK, indexing="ij")
        pos = torch.stack([x, z], dim=-1)
        wave = pos @ self.freq.T + self.phase
        y = (wave.sin() * self.amp).sum(-1)
        grad = (wave.cos() * self.amp) @ self.freq
        normal = torch.stack([-grad[..., 0], torch.ones_like(y), -grad[..., 1]], dim=-1)
        normal = normal / normal.norm(dim=-1, keepdim=True)
        return torch.cat([torch.stack([x, y, z], dim=-1), normal], dim=-1).cpu().numpy()


class World:
    def __init__(self, terrain):
        self.terrain = terrain
        self.meshes = {}       # (cx, cz, level) -> vertices and normals
        self.loaded = set()    # (cx, cz)
        self.built = 0

    def update(self, px, pz):
        wanted = {}
        for cx in range(px - VIEW, px + VIEW + 1):
            for cz in range(pz - VIEW, pz + VIEW + 1):
                wanted[cx, cz] = max(abs(cx - px), abs(cz - pz))

        for cx, cz in self.loaded - wanted.keys():
            for level in range(len(DETAIL)):
                self.meshes.pop((cx, cz, level), None)
        self.loaded = set(wanted)

        for (cx, cz), dist in wanted.items():
            key = (cx, cz, level_of(dist))
            if key not in self.meshes:
                self.meshes[key] = self.terrain.mesh(*key)
                self.built += 1

    def triangles(self, px, pz):
        total = 0
        for cx, cz in self.loaded:
            level = level_of(max(abs(cx - px), abs(cz - pz)))
            total += 2 * (len(self.meshes[cx, cz, level]) - 1) ** 2
        return total


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    world = World(Terrain(seed=1337, device=device))
    px, pz, tick = 0, 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        world.update(px, pz)
        tick += 1
        if tick % 10 == 0:
            print(f"chunk {px},{pz}: {world.triangles(px, pz)} triangles in view, {world.built} built", flush=True)
        # the player flies east and swerves a little
        px += 1
        pz += random.choice([-1, 0, 0, 1])
        time.sleep(0.3)


if __name__ == "__main__":
    main()
