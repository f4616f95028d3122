"""Programs with PyTorch that keep memory where it is hard to name; prints what the search
for holders finds at their end, a holder a line: MiB, path, the lines that fill it.

Usage: kept.py gradients|copies|adapters|layers|state|states|outputs|hooks|errors|tokenizers; with PYTHONPATH for the agent and PyTorch."""

import copy
import sys
import time
import types

import torch
from gpumem_agent.frameworks import torch as adapter
from gpumem_agent.holders import ending, running
from gpumem_agent.holders.register import Register


def network():
    return torch.nn.Sequential(torch.nn.Linear(1024, 512), torch.nn.Tanh(), torch.nn.Linear(512, 1))


def gradients():
    """Copies of a network that nothing refers to but their own gradients' graphs."""
    net = network()
    yield net
    for _ in range(4):
        learner = copy.deepcopy(net)
        loss = learner(torch.randn(8, 1024)).square().mean()
        loss.backward(create_graph=True)  # of the gradients
    yield net


def copies():
    """Copies of a network with gradients as they are mostly."""
    nets = [network()]
    yield nets
    for _ in range(4):
        nets.append(copy.deepcopy(nets[0]))
        nets[-1](torch.randn(8, 1024)).square().mean().backward()
        torch.nn.utils.clip_grad_norm_(nets[-1].parameters(), 1.0)
    yield nets


class Adapted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.base = torch.nn.Linear(64, 64)
        self.adapters = torch.nn.ModuleDict()

    def load(self, name):
        self.adapters[name] = torch.nn.Linear(256, 256)  # of the adapters


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = Adapted()


class Wrapped(torch.nn.Module):
    """One of several around a model."""

    def __init__(self, model):
        super().__init__()
        self.model = model


def adapters():
    """Modules that come to dictionaries of modules, far below the name of all."""
    global server
    model = torch.nn.Sequential(Block(), Block(), Block())
    for _ in range(5):
        model = Wrapped(model)
    server = types.SimpleNamespace(model=model)
    del model
    yield
    for n in range(8):
        for adapted in [m for m in server.model.modules() if hasattr(m, "adapters")]:
            adapted.load("tenant%d" % n)
    del adapted
    yield


def layers():
    """A list of modules that gets longer."""
    global model
    model = Wrapped(torch.nn.ModuleList([torch.nn.Linear(256, 256)]))
    yield
    for _ in range(12):
        model.model.append(torch.nn.Linear(256, 256))  # of the layers
    yield


class Car:
    state = None


def state():
    """A state that goes on from step to step with its graph."""
    global cars
    cell, cars = torch.nn.GRUCell(64, 256), [Car() for _ in range(2)]
    yield
    for n in range(40):
        car = cars[n % 2]
        car.state = cell(torch.randn(64, 64), car.state)  # of the state
    yield


def states():
    """Copies of a network's parameters, of each of some tasks."""
    global net, importances
    net, importances = network(), {}
    yield
    for task in range(4):
        importances[task] = [p.detach().square() for p in net.parameters()]
    yield


def outputs():
    """What layers of a network put out."""
    global net, seen
    net, seen = network(), []
    yield
    for _ in range(4):
        seen.append([net[0](torch.randn(512, 1024)).detach(), net[0].weight.detach().clone()])
    yield


def hooks():
    """Hooks of a weight that is looked at between forward and backward, with what they have."""
    global net, loss
    net = network()
    yield
    for _ in range(8):
        batch = torch.randn(256, 1024)
        net[0].weight.register_hook(lambda gradient, batch=batch: None)  # of the hooks
    loss = net(batch).sum()
    del batch
    yield


class Outcome:
    error = None


def draw(model, context, number):
    latents = torch.randn(64, 64)
    history = [latents]
    for step in range(4):
        latents = latents + model(latents)
        history = history[-2:] + [latents]
        if step == 3:
            check(torch.stack(history), number)


def check(latents, number):
    raise ValueError("request %d: %.1f" % (number, latents.std().item()))


def errors():
    """Errors that are kept for a page, and the frames in which they were raised: all have the
    same context, so that it has more referrers than a climb follows."""
    global outcomes, model
    outcomes, model = {}, torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh())
    yield
    context = torch.randn(512, 1024)
    for number in range(400):
        outcome = outcomes[number] = Outcome()
        try:
            with torch.inference_mode():
                draw(model, context, number)
        except ValueError as error:
            outcome.error = error  # of the errors
    yield


def tokenizers():
    """Objects of Rust's, each with more than Python sees."""
    from tokenizers import Tokenizer, models

    global tenants
    tenants = {}
    yield
    for number in range(30):
        tenants["tenant%d" % number] = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))  # of Rust's
    yield


def main():
    framework = adapter.open_framework(torch, types.SimpleNamespace(late=None, sites_wanted=False))
    process = types.SimpleNamespace(frameworks=[framework], sites_wanted=False)
    program = globals()[sys.argv[1]]()
    next(program)
    _, noted = running.look(process, None, time.monotonic() + 30)
    process.survivors = Register.of([framework])
    next(program)
    found, _ = running.look(process, noted, time.monotonic() + 30)
    for when, some in (("look", found), ("end", ending.find(process, time.monotonic() + 30))):
        for told in some if noted.complete else ():
            if told["bytes"] > 1 << 20 or "objects below" in told["path"]:
                size, path, kind = "%.0f MiB" % (told["bytes"] / 2**20), told["path"], told.get("kind")
                told = "%s: %s: %s: %s" % (when, size, path, told.get("filled", ""))
                print(told + (" " + kind if kind else ""))


main()
