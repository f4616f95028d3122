"""A service solves systems for its customers. One compiled function takes the matrix as an argument;
the matrices of the eight customers present are kept, the first eight of whom come at once.

ticket: jax-ml/jax#11448
class: none
"""

import os
import random
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax
import jax.numpy as jnp
import numpy as np

END = time.time() + float(os.environ.get("SECONDS", "40"))
draw = np.random.default_rng(3)
SIZE = 1024


@jax.jit
def solve(matrix, rhs):
    def body(_, x):
        return x + 0.5 * (rhs - matrix @ x)

    return jax.lax.fori_loop(0, 20, body, jnp.zeros_like(rhs))


def table():
    noise = draw.standard_normal((SIZE, SIZE), dtype="float32")
    return np.eye(SIZE, dtype="float32") + noise * (0.2 / SIZE**0.5)


solvers = {}
present = []
customer = 0
while time.time() < END:
    if len(present) >= 8:
        del solvers[present.pop(random.randrange(len(present)))]
    customer += 1
    present.append(customer)
    solvers[customer] = jnp.asarray(table())
    for _ in range(random.randint(3, 9) if customer > 8 else 1):
        rhs = draw.standard_normal((SIZE, 8), dtype="float32")
        answer = solve(solvers[random.choice(present[-4:])], rhs)
        answer.block_until_ready()
        time.sleep(0.05)
    if customer % 20 == 0:
        print("customers", customer, float(jnp.abs(answer).mean()), flush=True)
    time.sleep(random.uniform(0.3, 1.5) if customer > 8 else 0.2)
