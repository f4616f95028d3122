"""Tells why PyTorch ran out of memory, before the exception unwinds.

PyTorch calls its observers on the failing thread, without the allocator's lock,
after it has given its free segments back and before it raises. What an observer
raises would take the exception's place: nothing gets out of here."""

import os
import sys
import threading

from gpumem_agent import threads
from gpumem_agent.frameworks import torch_blocks, torch_makers, torch_modules
from gpumem_agent.frameworks.torch_passes import Passes
from gpumem_agent.own import own
from gpumem_agent.sites import choose, is_framework

SECONDS = 0.15  # for the search of roles, at one error
GRAPH_SECONDS = 0.1  # and for the modules of activations
HOLDER_SECONDS = 0.15  # and for holders
WHOLE = 8  # errors that are told whole; of later ones only the numbers
MOST = 1000  # errors that are told at all
KEPT_SECONDS = 0.2  # to wait for the tracer's word that it wrote the event
FRAMES = 24
TEXT = 400  # bytes of one frame
HOLDERS = 10
SHOWN = 500  # tensors, the largest, whose holders are looked for
PASSES = 2  # that the graph keeps, from which it is asked who holds their outputs
USES = 16  # of a parameter by one pass, from which that is asked, too
SETTINGS = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")


FORWARDER = "_gpumem_oom"  # in sys: see late.Late.forward


class OutOfMemory:
    """The observer of one process."""

    stays = False  # something in the program, for good

    def __init__(self, framework, process):
        self._framework = framework
        self._process = process
        self._count = 0
        self._is_busy = False
        self._outputs = []  # of passes that the graph keeps, and
        self._shown = []  # tensors that are no model's: weak references, to be named

    def attach(self):
        """Adds the observer to those of the program. The device must be alive, or
        about to be."""
        attach = getattr(self._framework.torch._C, "_cuda_attach_out_of_memory_observer", None)
        late = self._process.late
        if attach is None:
            return
        if late is None:
            attach(self.observe)
        else:  # PyTorch never lets go of an observer
            self.stays = True
            late.forward(FORWARDER, attach, self.observe)

    def observe(self, device, asked, limit, free):
        try:
            if not self._is_busy:
                self._is_busy = True
                try:
                    self._observe(device, asked, limit, free)
                finally:
                    self._is_busy = False
        except BaseException as error:
            # Of a signal handler of the program's, too: there is no way to raise
            # it here that leaves PyTorch's own error in its place.
            self._process.failed(error)

    def _observe(self, device, asked, limit, free):
        self._count += 1
        if self._count > MOST or not self._process.connection.is_open:
            return
        begun = own.monotonic()
        told = {
            "framework": "torch",
            "device": device,
            "count": self._count,
            "asked_bytes": asked,
            "limit_bytes": limit,
            "free_bytes": free,
        }
        for part in (self._add_stats, self._add_stack, self._add_beside) + (
            (self._add_blocks, self._add_holders) if self._count <= WHOLE else ()
        ):
            try:
                part(told, device)
            except Exception as error:
                # A signal handler of the program's may come while this thread brings a
                # module of ours in. That part is then not told, which is no error.
                if "partially initialized module" not in str(error):
                    self._process.failed(error)
        told["cost_us"] = int((own.monotonic() - begun) * 1e6)
        self._process.tell_oom(told, KEPT_SECONDS if self._count <= WHOLE else 0.0)

    def _add_stats(self, told, device):
        torch = self._framework.torch
        stats = torch.cuda.memory_stats_as_nested_dict(device)
        told["allocated_bytes"] = stats["allocated_bytes"]["all"]["current"]
        told["reserved_bytes"] = stats["reserved_bytes"]["all"]["current"]
        peak = stats["allocated_bytes"]["all"].get("peak")
        if peak is not None:
            told["peak_bytes"] = peak
        for key in ("num_alloc_retries", "num_ooms"):
            if key in stats:
                told[key] = stats[key]
        told["capacity_bytes"] = int(torch.cuda.get_device_properties(device).total_memory)
        told["grad_enabled"] = bool(getattr(torch, "is_grad_enabled", bool)())
        settings = next((os.environ[n] for n in SETTINGS if n in os.environ), "")
        if settings:
            told["settings"] = settings[:TEXT]

    def _add_beside(self, told, device):
        """What other frameworks of this process have of the device."""
        beside = []
        for framework in self._process.frameworks:
            if framework is self._framework or not framework.active():
                continue
            row = {}
            framework.sample(row)
            entry = {"name": framework.name}
            for key in ("live", "idle"):
                figure = row.get("pool_%s_bytes@%d" % (key, device))
                if figure is not None:
                    entry[key + "_bytes"] = figure
            if len(entry) > 1:
                beside.append(entry)
        if beside:
            told["beside"] = beside

    def _add_stack(self, told, device):
        frames = _frames(sys._getframe(1))
        if not frames:
            # Of C++: the backward pass runs on threads of its own while a thread
            # of the program's waits for it.
            main = threading.main_thread().ident
            frames = _frames(threads.teller()().get(main))
            told["other_thread"] = True
        if frames:
            told["site"] = choose(frames)[:TEXT]
            told["stack"] = [("%s:%d %s" % f)[-TEXT:] for f in frames[:FRAMES]]

    def _add_blocks(self, told, device):
        segments = self._framework.segments()
        if segments is None:
            return
        roles = torch_blocks.Roles(self._framework, own.monotonic() + SECONDS)
        self._add_module(told, roles)
        self._add_graph(told, roles)
        shown = roles.of_role(roles.shown, torch_blocks.TENSORS)
        self._shown = [shown[a] for a in sorted(shown, key=lambda a: -roles.sizes[a])[:SHOWN]]
        layout = torch_blocks.Layout(segments, device, roles)
        told["pools"] = layout.told()
        told["model"] = roles.facts
        told["categories"] = layout.categories
        modules = torch_modules.told(layout.owned, roles.paths.names)
        if modules:
            told["modules"] = modules
        if not roles.complete:
            told["incomplete"] = True

    def _add_module(self, told, roles):
        """The module that asked, and those that made the activations. Without them the
        rest is told all the same."""
        try:
            running = torch_makers.running(sys._getframe(1))
            number = roles.find_makers(running, own.monotonic() + GRAPH_SECONDS)
            if number is not None:
                told["module"] = roles.paths.names[number]
        except Exception as error:
            self._process.failed(error)

    def _add_graph(self, told, roles):
        """Which passes the graph keeps, and what is to be named because of it."""
        passes, outputs = None, roles.of_role(roles.outputs, torch_blocks.ACTIVATIONS)
        self._outputs = []
        try:
            if roles.graph is not None:
                passes = Passes(roles.graph, {a: roles.sizes[a] for a in outputs})
            graph = passes.told() if passes else None
        except Exception as error:
            self._process.failed(error)
            return
        if graph:
            told["graph"] = graph
            if graph["passes"] >= PASSES or graph["uses"] >= USES:
                is_one = graph["joined"] >= PASSES or graph["passes"] < PASSES
                ends = passes.outputs[:1] if is_one else passes.outputs
                self._outputs = [outputs[a] for a in ends]

    def _add_holders(self, told, device):
        surveys = self._process.surveys
        if self._process.hold and self._count == 1:
            surveys.look_now(self._process, own.monotonic() + HOLDER_SECONDS)
        if surveys.told:
            told["holders"] = surveys.told[:HOLDERS]
        self._add_names(told)

    def _add_names(self, told):
        """Who holds the outputs of the passes that are kept, and, where nobody knows who
        grew, the tensors that are no model's."""
        outputs, shown, self._outputs, self._shown = self._outputs, self._shown, [], []
        if "holders" in told:
            shown = []
        if self._process.hold and (outputs or shown):
            from gpumem_agent.holders import holding

            wanted = [_by_identity(self._framework.alive, some) for some in (outputs, shown)]
            deadline = own.monotonic() + HOLDER_SECONDS
            of_graph, of_tensors = holding.find(self._process.frameworks, wanted, deadline)
            if of_graph:
                told["graph"]["holder"] = max(of_graph, key=lambda entry: entry["count"])
            if of_tensors:
                told["holders"] = of_tensors[:HOLDERS]


def _by_identity(alive, references):
    """{identity: reference} of what lives."""
    found = ((id(item), r) for r in references for item in [alive(r)] if item is not None)
    return dict(found)


def _frames(frame):
    """(file, line, function) of the program's frames and the framework's, from the
    inside out, without the agent's own."""
    frames = []
    while frame is not None and len(frames) < 4 * FRAMES:
        code = frame.f_code
        if "gpumem_agent" not in code.co_filename:
            frames.append((code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back
    return frames if any(not is_framework(f[0]) for f in frames) else []
