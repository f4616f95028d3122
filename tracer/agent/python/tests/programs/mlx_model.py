"""Trains a small network with MLX; prints what its parameters and the state of its
optimizer take."""

import gpumem
import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optimizers
from mlx.utils import tree_flatten

model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))
optimizer = optimizers.Adam(learning_rate=0.1)
loss = nn.value_and_grad(model, lambda x: model(x).square().mean())
for _ in range(5):
    _, gradients = loss(mx.ones((4, 256)))
    optimizer.update(model, gradients)
    mx.eval(model.parameters(), optimizer.state)
    gpumem.step()
del gradients, _
kept = mx.ones((1024, 256))
mx.eval(kept)
print(*(sum(a.nbytes for _, a in tree_flatten(t)) for t in (model.parameters(), optimizer.state)))
