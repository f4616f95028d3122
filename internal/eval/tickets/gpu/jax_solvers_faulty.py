"""A service solves systems for its customers. For each new customer it compiles a function that
closes over the matrix, and keeps the function when the customer has left.

ticket: jax-ml/jax#11448
class: app-leak
holder: solvers matrix
cause: compiled-functions-kept compile-cache cache-without-bound
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


def make_solver(table):
    matrix = jnp.asarray(table)  # grows

    def solve(rhs):
        def body(_, x):
            return x + 0.5 * (rhs - matrix @ x)

        return jax.lax.fori_loop(0, 20, body, jnp.zeros_like(rhs))

    return jax.jit(solve)


def table():
    noise = draw.standard_normal((SIZE, SIZE), dtype="float32")
    return np.eye(SIZE, dtype="float32") + noise * (0.2 / SIZE**0.5)


solvers = {}
present = []
customer = 0
while time.time() < END:
    if len(present) >= 8:
        present.pop(random.randrange(len(present)))
    customer += 1
    present.append(customer)
    solvers[customer] = make_solver(table())  # grows
    for _ in range(random.randint(3, 9)):
        rhs = draw.standard_normal((SIZE, 8), dtype="float32")
        answer = solvers[random.choice(present[-4:])](rhs)
        answer.block_until_ready()
        time.sleep(0.05)
    if customer % 20 == 0:
        print("customers", customer, float(jnp.abs(answer).mean()), flush=True)
    time.sleep(random.uniform(0.3, 1.5))
