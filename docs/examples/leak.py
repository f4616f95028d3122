import time
import torch

model = torch.nn.Linear(256, 256)
total = 0
for step in range(200):
    loss = model(torch.randn(512, 256)).square().mean()
    total += loss               # keeps the graph of every step
    time.sleep(0.05)            # the rest of a step
print("mean loss", float(total) / 200)
