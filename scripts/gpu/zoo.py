"""Programs with a known truth for a real GPU: each leaks in one way, or does not.

Each program is written as users write them: none of them knows gpumem.
"""

import ctypes
import gc
import sys

import programs
from programs import program


def network(torch, width=512):
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width)
    ).cuda()
    return net, torch.optim.SGD(net.parameters(), lr=1e-3), torch.randn(64, width, device="cuda")


def train_step(torch, net, optimizer, x):
    out = net(x)
    loss = (out * out).mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return out, loss


@program("app-leak", "-", "outputs appended to a list", holder="history", site="train_step")
def torch_append(clock, leak):
    import torch

    net, optimizer, x = network(torch)
    history = []
    for _ in clock:
        out, _ = train_step(torch, net, optimizer, x)
        if leak:
            history.append(out.detach())


@program("app-leak", "uncut-autograd-graph", "total = total + loss keeps every graph", "total", True)
def torch_loss_graph(clock, leak):
    import torch

    net, optimizer, x = network(torch)
    total = torch.zeros((), device="cuda")
    for _ in clock:
        train_step(torch, net, optimizer, x)
        loss = net(x).square().mean()  # of a validation that nobody runs backward
        total = total + (loss if leak else loss.detach())


@program("app-leak", "handle-leak", "tiny tensors: few bytes, the count climbs", "kept", True)
def torch_small_handles(clock, leak):
    import torch

    net, optimizer, x = network(torch)
    kept = []
    for _ in clock:
        train_step(torch, net, optimizer, x)
        if leak:
            kept.append(torch.zeros(1, device="cuda"))


@program("app-leak", "-", "a forward hook keeps the activations of each step", "activations", "train_step")
def torch_hook(clock, leak):
    import torch

    net, optimizer, x = network(torch)
    activations = []

    def keep(module, inputs, output):
        if leak:
            activations.append(output.detach())

    net[0].register_forward_hook(keep)
    for _ in clock:
        train_step(torch, net, optimizer, x)


@program("app-leak", "-", "a cache keyed by the step number", "cache", "train_step")
def torch_cache(clock, leak):
    import torch

    net, optimizer, x = network(torch)
    cache = {}
    for n in clock:
        out, _ = train_step(torch, net, optimizer, x)
        cache[n if leak else n % 8] = out.detach()


@program("app-leak", "reference-cycle", "tensors in reference cycles while the collector is off", site="train_step")
def torch_cycle(clock, leak):
    import torch

    class Node:
        pass

    net, optimizer, x = network(torch)
    if leak:
        gc.disable()
    for _ in clock:
        out, _ = train_step(torch, net, optimizer, x)
        node = Node()
        node.tensor, node.itself = out.detach(), node
        if not leak:
            node.itself = None


@program("app-leak", "-", "a slow leak under a sawtooth a hundred times its size", "kept", True)
def torch_sawtooth(clock, leak):
    import torch

    kept, working = [], []
    for n in clock:
        working.append(torch.empty(4 << 20, dtype=torch.uint8, device="cuda"))
        if n % 50 == 49:
            working.clear()
            torch.cuda.empty_cache()
        if leak and n % 5 == 0:
            kept.append(torch.empty(256 << 10, dtype=torch.uint8, device="cuda"))


@program("pool-growth", "pool-never-trims", "request sizes keep growing, old blocks fit nothing")
def torch_fragments(clock, leak):
    import torch

    for n in clock:
        size = (20 << 20) + (n * (64 << 10) if leak else 0)
        block = torch.empty(size, dtype=torch.uint8, device="cuda")
        del block


@program("driver-growth", "-", "a C library allocates behind the framework's back", site="raw_alloc")
def raw_alloc(clock, leak):
    import torch

    torch.zeros(1, device="cuda")
    cuda = ctypes.CDLL("libcuda.so.1")
    for _ in clock:
        pointer = ctypes.c_void_p()
        cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(2 << 20))
        if not leak:
            cuda.cuMemFree_v2(pointer)


@program("driver-growth", "handle-leak", "streams created, never destroyed", site="[stream]")
def raw_streams(clock, leak):
    import torch

    torch.zeros(1, device="cuda")
    cuda = ctypes.CDLL("libcuda.so.1")
    for _ in clock:
        for _ in range(4):
            stream = ctypes.c_void_p()
            cuda.cuStreamCreate(ctypes.byref(stream), ctypes.c_uint(1))
            if not leak:
                cuda.cuStreamDestroy_v2(stream)


@program("driver-growth", "handle-leak", "events created, never destroyed: host memory of the driver", site="[event]")
def raw_events(clock, leak):
    import torch

    torch.zeros(1, device="cuda")
    cuda = ctypes.CDLL("libcuda.so.1")
    for _ in clock:
        for _ in range(500):
            event = ctypes.c_void_p()
            cuda.cuEventCreate(ctypes.byref(event), ctypes.c_uint(0))
            if not leak:
                cuda.cuEventDestroy_v2(event)


@program("driver-growth", "handle-leak", "CUDA graphs captured and kept", site="[graph]")
def torch_graphs(clock, leak):
    import torch

    x = torch.zeros(1024, device="cuda")
    kept = []
    for _ in clock:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(20):
                x.add_(1)
        if leak:
            kept.append(graph)


@program("host-growth", "-", "NumPy arrays appended")
def host_numpy(clock, leak):
    import numpy
    import torch

    net, optimizer, x = network(torch)
    kept = []
    for _ in clock:
        train_step(torch, net, optimizer, x)
        if leak:
            kept.append(numpy.ones(64 << 10))


@program("host-growth", "-", "Python objects appended")
def host_objects(clock, leak):
    import torch

    net, optimizer, x = network(torch)
    kept = []
    for n in clock:
        train_step(torch, net, optimizer, x)
        if leak:
            kept.append([{"step": n, "i": i} for i in range(1000)])


@program("host-growth", "-", "pinned host memory kept")
def host_pinned(clock, leak):
    import torch

    kept = []
    for _ in clock:
        block = torch.empty(512 << 10, dtype=torch.uint8).pin_memory()
        if leak:
            kept.append(block)


@program("app-leak", "-", "CuPy arrays appended", "kept")
def cupy_append(clock, leak):
    import cupy

    kept = []
    for _ in clock:
        a = cupy.ones(64 << 10, dtype=cupy.float32) * 2
        if leak:
            kept.append(a)


@program("pool-growth", "pool-never-trims", "CuPy's pool keeps a block of each size")
def cupy_sizes(clock, leak):
    import cupy

    for n in clock:
        a = cupy.empty((1 << 20) + (n * 512 if leak else 0), dtype=cupy.uint8)
        del a


@program("app-leak", "-", "JAX arrays appended", "kept")
def jax_append(clock, leak):
    import jax.numpy as jnp

    kept = []
    for _ in clock:
        a = (jnp.ones(64 << 10) * 2).block_until_ready()
        if leak:
            kept.append(a)


@program("host-growth", "compiled-functions-kept", "JAX compiles every new shape, cache without bound")
def jax_compile(clock, leak):
    import jax
    import jax.numpy as jnp

    f = jax.jit(lambda x: jnp.tanh(x * 2).sum())
    for n in clock:
        f(jnp.ones(8 + (n if leak else n % 4))).block_until_ready()


@program("app-leak", "-", "a module keeps its outputs in an attribute", "outputs", "forward")
def torch_attribute(clock, leak):
    import torch

    class Remembers(torch.nn.Linear):
        def __init__(self, *size):
            super().__init__(*size)
            self.outputs = []

        def forward(self, x):
            out = super().forward(x)
            if leak:
                self.outputs.append(out.detach())
            return out

    net = torch.nn.Sequential(Remembers(512, 512), torch.nn.ReLU()).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    x = torch.randn(64, 512, device="cuda")
    for _ in clock:
        train_step(torch, net, optimizer, x)


@program("app-leak", "-", "new parameters for the optimizer each step", "param_groups", True)
def torch_parameters(clock, leak):
    import torch

    net, optimizer, x = network(torch)
    for _ in clock:
        train_step(torch, net, optimizer, x)
        extra = torch.nn.Parameter(torch.zeros(64, 512, device="cuda"))
        if leak:
            optimizer.add_param_group({"params": [extra]})


BY_NAME = {}


@program("app-leak", "-", "a dictionary of the module keeps JAX arrays", "BY_NAME")
def jax_global(clock, leak):
    import jax.numpy as jnp

    for n in clock:
        BY_NAME[n if leak else n % 8] = (jnp.ones(64 << 10) * 2).block_until_ready()


@program("app-leak", "-", "a generator that is never finished keeps CuPy arrays", "pending")
def cupy_pending(clock, leak):
    import cupy

    def halves(a):
        for part in (a[: a.size // 2], a[a.size // 2 :]):
            yield part

    pending = []
    for _ in clock:
        work = halves(cupy.ones(64 << 10, dtype=cupy.float32))
        next(work)
        if leak:
            pending.append(work)


@program("driver-growth", "compiled-functions-kept", "modules compiled from PTX, never unloaded", site="[module]")
def raw_modules(clock, leak):
    import cupy

    cupy.zeros(64)  # the context
    cuda = ctypes.CDLL("libcuda.so.1")
    ptx = b".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n"
    for _ in clock:
        module = ctypes.c_void_p()
        cuda.cuModuleLoadData(ctypes.byref(module), ctypes.c_char_p(ptx))
        if not leak:
            cuda.cuModuleUnload(module)


@program("none", "-", "new shapes for the first seconds, then repeats")
def torch_warmup(clock, leak):
    import torch

    net, optimizer, x = network(torch)
    for n in clock:
        rows = min(n, 300) % 64 + 1
        train_step(torch, net, optimizer, x[:rows])


@program("none", "-", "a periodic evaluation allocates and frees, then empties the cache")
def torch_eval(clock, leak):
    import torch

    net, optimizer, x = network(torch)
    for n in clock:
        train_step(torch, net, optimizer, x)
        if n % 100 == 99:
            big = [torch.empty(8 << 20, dtype=torch.uint8, device="cuda") for _ in range(16)]
            del big
            torch.cuda.empty_cache()


@program("none", "-", "a second model is loaded in the middle and stays")
def torch_step(clock, leak):
    import torch

    net, optimizer, x = network(torch)
    second = None
    for n in clock:
        train_step(torch, net, optimizer, x)
        if n == 600:
            second = network(torch, 2048)
    del second


if __name__ == "__main__":
    sys.exit(programs.main(__doc__))
