"""JAX and MLX at once; the device of MLX stays asleep until it is used."""

import time

import jax
import mlx.core as mx

time.sleep(0.3)
asleep = not mx.started_by_question
kept = [jax.zeros(1 << 20) for _ in range(3)]
jax.monitoring.record("/jax/core/compile/backend_compile_duration")
arrays = [mx.array(1 << 10) for _ in range(2)]
time.sleep(0.5)
print(asleep)
