"""An ensemble forecasts the monsoon. Each cycle gives the members of the ensemble to two workers, which carry moisture
with the wind and let it rain out, and the mean of the members is drawn towards the newest radar image for the next
cycle. The office tells now and then how many members are under way and how many went wrong.

ticket: practice
class: app-leak
holder: Office jobs Future _result
cause: futures-kept results-kept
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SIDE, MEMBERS, STEPS, GAIN = 320, 6, 24, 0.3


@jax.jit
def forecast(moisture, key):
    """One member: the moisture and the rain after some hours with a disturbed wind."""
    numbers = jnp.fft.fftfreq(SIDE, 1 / SIDE)
    x, y = numbers[None, : SIDE // 2 + 1], numbers[:, None]
    square = x ** 2 + y ** 2
    noise = jnp.fft.rfft2(jax.random.normal(key, (SIDE, SIDE)))
    stream = noise * jnp.exp(-square / 50)
    across = jnp.fft.irfft2(1j * y * stream, s=(SIDE, SIDE))
    up = jnp.fft.irfft2(-1j * x * stream, s=(SIDE, SIDE))
    scale = jnp.sqrt(jnp.mean(across ** 2 + up ** 2)) + 1e-6
    across, up = 0.3 * across / scale + 0.2, 0.3 * up / scale

    def hour(_, state):
        moisture, rain = state
        along = jnp.where(across > 0, moisture - jnp.roll(moisture, 1, 1), jnp.roll(moisture, -1, 1) - moisture)
        north = jnp.where(up > 0, moisture - jnp.roll(moisture, 1, 0), jnp.roll(moisture, -1, 0) - moisture)
        moisture = moisture - across * along - up * north + 0.01
        fall = 0.2 * jnp.maximum(moisture - 1, 0)
        return moisture - fall, rain + fall

    return jax.lax.fori_loop(0, STEPS, hour, (moisture, jnp.zeros_like(moisture)))


def member(moisture, key):
    """Runs a member to its end in the worker."""
    moisture, rain = forecast(moisture, key)  # grows
    return jax.block_until_ready((moisture, rain))


class Office:
    def __init__(self):
        self.workers = ThreadPoolExecutor(2)
        self.jobs = []

    def submit(self, moisture, key):
        job = self.workers.submit(member, moisture, key)
        self.jobs.append(job)  # keeps
        return job

    def __str__(self):
        running = sum(not job.done() for job in self.jobs)
        wrong = sum(job.done() and job.exception() is not None for job in self.jobs)
        return f"{len(self.jobs)} members asked, {running} under way, {wrong} wrong"


@jax.jit
def radar(key):
    """The newest radar image: bands of moist air and noise."""
    axis = jnp.arange(SIDE) * (2 * jnp.pi / SIDE)
    phase, noise = jax.random.split(key)
    shift = jax.random.uniform(phase, (2,), maxval=2 * jnp.pi)
    bands = jnp.sin(2 * axis[None] + shift[0]) * jnp.sin(3 * axis[:, None] + shift[1])
    return 0.8 + 0.5 * bands + 0.05 * jax.random.normal(noise, (SIDE, SIDE))


def main():
    key = jax.random.PRNGKey(11)
    office, cycle, moisture = Office(), 0, jnp.full((SIDE, SIDE), 0.8, jnp.float32)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        key, sight, *seeds = jax.random.split(key, MEMBERS + 2)
        members = [office.submit(moisture, seed) for seed in seeds]
        fields = [each.result() for each in members]
        mean = sum(field for field, _ in fields) / MEMBERS
        rain = sum(fall.mean() for _, fall in fields).item() / MEMBERS
        moisture = mean + GAIN * (radar(sight) - mean)
        cycle += 1
        if cycle % 10 == 0:
            print(f"cycle {cycle}: rain {rain:.3f}; {office}", flush=True)
        time.sleep(0.25)


if __name__ == "__main__":
    main()
