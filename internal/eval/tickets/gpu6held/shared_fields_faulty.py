"""A solver in CuPy hands fields to a library that wants pointers. They are allocated past the pool, with cudaMalloc,
wrapped without an owner, and forgotten when the mesh is refined: nobody frees them.

ticket: practice
class: driver-growth
holder:
cause: -
"""

import os
import random
import time

import cupy as cp


class SharedField:
    """An array whose memory is not CuPy's, so that its pointer can be given away."""

    def __init__(self, shape):
        size = 4 * int(shape[0]) * int(shape[1])
        self.pointer = cp.cuda.runtime.malloc(size)  # grows
        memory = cp.cuda.UnownedMemory(self.pointer, size, None)
        self.array = cp.ndarray(shape, cp.float32, memptr=cp.cuda.MemoryPointer(memory, 0))
        self.array.fill(0)

    def free(self):
        self.array = None
        cp.cuda.runtime.free(self.pointer)


class Mesh:
    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns

    def refined(self):
        """Another mesh of about the same size; where it is fine changes all the time."""
        return Mesh(*random.choice([(500, 900), (600, 600), (640, 800), (720, 720), (900, 640)]))


class Solver:
    def __init__(self):
        self.mesh, self.refinements, self.steps = Mesh(600, 600), 0, 0
        self.fields = self.allocate()

    def allocate(self):
        return {name: SharedField((self.mesh.rows, self.mesh.columns)) for name in ("pressure", "speed")}

    def refine(self):
        cp.cuda.Stream.null.synchronize()
        old, self.mesh = self.fields, self.mesh.refined()
        self.fields = self.allocate()
        rows, columns = (min(a, b) for a, b in zip(old["pressure"].array.shape, self.fields["pressure"].array.shape))
        for name, field in old.items():
            self.fields[name].array[:rows, :columns] = field.array[:rows, :columns]
        self.refinements += 1

    def step(self):
        pressure, speed = (self.fields[name].array for name in ("pressure", "speed"))
        spread = -4 * pressure
        for axis in (0, 1):
            spread += cp.roll(pressure, 1, axis) + cp.roll(pressure, -1, axis)
        speed += 0.2 * spread
        pressure += 0.2 * speed
        pressure[random.randrange(self.mesh.rows), random.randrange(self.mesh.columns)] += 1.0
        self.steps += 1


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    solver, due = Solver(), time.time() + 1.0
    while time.time() < end:
        solver.step()
        time.sleep(0.03)
        if time.time() > due:
            solver.refine()
            due = time.time() + random.uniform(0.5, 2.0)
            if solver.refinements % 10 == 0:
                energy = float(cp.square(solver.fields["speed"].array).sum())
                print(solver.steps, "steps,", solver.refinements, "refinements, energy", round(energy, 2), flush=True)


if __name__ == "__main__":
    main()
