"""The loss of an epoch is summed up with its graph.

ticket: pytorch/pytorch#64586
class: host-growth
holder: epoch_loss
cause: uncut-autograd-graph
"""

import os
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


def discriminator_loss(net, real, fake):
    return net(fake).mean() - net(real).mean()


def main():
    net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    epoch_loss = 0.0
    while time.time() < END:
        loss = discriminator_loss(net, torch.randn(64, 64), torch.randn(64, 64))
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        epoch_loss += loss  # grows
        time.sleep(0.02)
    print("loss", float(epoch_loss))


main()
