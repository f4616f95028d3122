"""Training of a GAN with a pool of fake images. It takes in fifty in the first seconds, detached, and
then exchanges them.

ticket: junyanz/pytorch-CycleGAN-and-pix2pix#512
class: none
"""

import os
import random
import time

import torch
from torch import nn

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
device = "cuda" if torch.cuda.is_available() else "cpu"


class ImagePool:
    def __init__(self, size):
        self.size, self.count, self.images = size, 0, []

    def query(self, images):
        chosen = []
        for image in images.detach().clone():
            if self.count < self.size:
                self.count += 1
                self.images.append(image)
                chosen.append(image)
            else:
                place = random.randrange(self.size)
                chosen.append(self.images[place])
                self.images[place] = image
        return torch.stack(chosen).detach()


def net(before, after, last):
    return nn.Sequential(nn.Conv2d(before, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, after, 3, 1, 1), last).to(device)


generator = net(3, 12, nn.Sequential(nn.PixelShuffle(2), nn.Tanh()))
critic = net(3, 1, nn.Identity())
improve_g = torch.optim.Adam(generator.parameters(), 2e-4)
improve_d = torch.optim.Adam(critic.parameters(), 2e-4)
pool, step = ImagePool(50), 0
while time.time() < END:
    step += 1
    real = torch.rand(6, 3, 160, 160, device=device)
    fake = generator(real)
    improve_g.zero_grad()
    ((critic(fake) - 1) ** 2).mean().backward()
    improve_g.step()
    improve_d.zero_grad()
    loss = (critic(pool.query(fake)) ** 2).mean() + ((critic(real) - 1) ** 2).mean()
    loss.backward()
    improve_d.step()
    time.sleep(random.choice((0.2, 0.25, 0.3, 0.8)))
print("steps", step, loss.item())
