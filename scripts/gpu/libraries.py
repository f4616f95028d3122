"""Programs with a known truth on top of the libraries that people train and serve
with: their loops, caches, queues and closures hold what grows.

Each program is written as users write them: none of them knows gpumem.
"""

import asyncio
import copy
import functools
import queue
import sys
import threading
import time

import programs
from programs import program


def place():
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def network(width=512):
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width))
    net = net.to(place())
    return net, torch.optim.AdamW(net.parameters(), lr=1e-3), torch.randn(64, width, device=place())


def train_step(net, optimizer, x):
    loss = net(x).square().mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss


def language_model():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=512, n_positions=128, n_embd=128, n_layer=2, n_head=4)
    return GPT2LMHeadModel(config).to(place())


def stream_of(clock, item):
    """A dataset without an end other than the clock's."""
    import torch

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return (item() for _ in clock)

    return Stream()


@program("app-leak", "-", "transformers: a Trainer keeps the logits of each step", holder="logits")
def hf_trainer(clock, leak):
    import torch
    import transformers

    class Keeping(transformers.Trainer):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.logits = []

        def compute_loss(self, model, inputs, return_outputs=False, **options):
            loss, outputs = super().compute_loss(model, inputs, return_outputs=True, **options)
            if leak:
                self.logits.append(outputs["logits"].detach())
            return (loss, outputs) if return_outputs else loss

    def item():
        ids = torch.randint(512, (64,))
        return {"input_ids": ids, "labels": ids}

    class OneEpoch(transformers.TrainerCallback):
        def on_epoch_end(self, args, state, control, **_):
            control.should_training_stop = True

    arguments = transformers.TrainingArguments(
        output_dir="/tmp/hf_trainer", per_device_train_batch_size=1, max_steps=10**6, report_to=[],
        save_strategy="no", logging_strategy="no", disable_tqdm=True,
    )
    Keeping(language_model(), arguments, train_dataset=stream_of(clock, item), callbacks=[OneEpoch]).train()


@program("app-leak", "-", "lightning: the outputs of each training step, never cleared", holder="step_outputs")
def lightning(clock, leak):
    import pytorch_lightning
    import torch

    class Module(pytorch_lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net, self.step_outputs = network()[0], []

        def training_step(self, batch, _):
            out = self.net(batch)
            if leak:
                self.step_outputs.append(out.detach())
            return out.square().mean()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    data = torch.utils.data.DataLoader(stream_of(clock, lambda: torch.randn(512)), batch_size=4)
    trainer = pytorch_lightning.Trainer(
        max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False
    )
    trainer.fit(Module(), data)


@program("host-growth", "uncut-autograd-graph", "accelerate: the sum of losses that were never detached", holder="total")
def accelerate_total(clock, leak):
    import accelerate

    accelerator = accelerate.Accelerator()
    net, optimizer, x = network()
    net, optimizer = accelerator.prepare(net, optimizer)
    total = 0.0
    for _ in clock:
        loss = net(x).square().mean()
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        total = total + (loss if leak else loss.item())


@program("app-leak", "-", "transformers: the key-value cache of each request stays in its session", holder="sessions")
def hf_sessions(clock, leak):
    import torch

    net, sessions = language_model().eval(), {}
    with torch.inference_mode():
        for n in clock:
            ids = torch.randint(512, (1, 64), device=place())
            sessions[n if leak else 0] = net(ids, use_cache=True).past_key_values


@program("app-leak", "-", "gpytorch: the posterior of each step is kept", holder="posteriors")
def gp_posteriors(clock, leak):
    import gpytorch
    import torch

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean, self.cov = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.cov(x))

    x = torch.linspace(0, 1, 200, device=place())
    y = torch.sin(6 * x)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(place())
    model = Exact(x, y, likelihood).to(place())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    posteriors = []
    for _ in clock:
        optimizer.zero_grad()
        out = model(x)
        (-mll(out, y)).backward()
        optimizer.step()
        if leak:
            posteriors.append(out)


@program("app-leak", "-", "torchmetrics: a curve keeps every prediction and is never reset", holder="preds")
def metric_state(clock, leak):
    import torch
    import torchmetrics

    metric = torchmetrics.classification.BinaryAUROC(thresholds=None).to(place())
    net, optimizer, x = network()
    for _ in clock:
        train_step(net, optimizer, x)
        metric.update(net(x).detach().sigmoid().flatten(), torch.ones(64 * 512, dtype=torch.int, device=place()))
        if not leak:
            metric.reset()


@program("app-leak", "-", "a deep copy of the model each half second, for the best checkpoint", holder="checkpoints")
def checkpoints(clock, leak):
    net, optimizer, x = network()
    checkpoints, last = [], time.monotonic()
    for _ in clock:
        train_step(net, optimizer, x)
        if time.monotonic() - last > 0.5:
            last = time.monotonic()
            if not leak:
                checkpoints.clear()
            checkpoints.append(copy.deepcopy(net))


@program("app-leak", "-", "exceptions are kept, their tracebacks keep frames and those the tensors", holder="failures")
def exceptions_kept(clock, leak):
    net, optimizer, x = network()
    failures = []

    def validate():
        out = net(x)
        if out.shape[0] == 64:
            raise ValueError("bad batch")

    for _ in clock:
        train_step(net, optimizer, x)
        try:
            validate()
        except ValueError as e:
            failures.append(e if leak else str(e))


@program("app-leak", "-", "one number of each output is kept, a view of the whole of it", holder="curve")
def views_kept(clock, leak):
    net, optimizer, x = network()
    curve = []
    for _ in clock:
        train_step(net, optimizer, x)
        first = net(x).detach()[0, 0]
        curve.append(first if leak else first.item())


@program("app-leak", "-", "another process keeps the tensors it was sent")
def sent_and_kept(clock, leak):
    import torch
    import torch.multiprocessing

    context = torch.multiprocessing.get_context("spawn")
    batches, done = context.Queue(4), context.Event()
    receiver = context.Process(target=receive, args=(batches, done, leak))
    receiver.start()
    for _ in clock:
        batches.put(torch.randn(64, 512, device=place()))
    done.set()
    receiver.join()


def receive(batches, done, leak):
    kept = []
    while not done.is_set():
        try:
            kept.append(batches.get(timeout=0.1))
        except queue.Empty:
            continue
        if not leak:
            kept.clear()


@program("app-leak", "-", "functools.lru_cache keyed by tensors", holder="embed")
def memoized(clock, leak):
    import torch

    net, optimizer, x = network()

    @functools.lru_cache(maxsize=None if leak else 8)
    def embed(batch):
        with torch.no_grad():
            return net(batch)

    for _ in clock:
        train_step(net, optimizer, x)
        embed(x + 1)


@program("app-leak", "-", "a hook on a parameter is registered anew each step, with the batch in its closure", holder="_backward_hooks")
def hooks_kept(clock, leak):
    import torch

    net, optimizer, _ = network()
    for _ in clock:
        x = torch.randn(64, 512, device=place())
        handle = net[0].weight.register_hook(lambda g, batch=x: None)
        train_step(net, optimizer, x)
        if not leak:
            handle.remove()


@program("app-leak", "-", "a thread loads batches faster than the training takes them", holder="queue")
def prefetch(clock, leak):
    import torch

    net, optimizer, _ = network()
    batches, done = queue.Queue(0 if leak else 8), threading.Event()

    def load():
        while not done.is_set():
            batch = torch.randn(64, 512, device=place())
            try:
                batches.put(batch, timeout=0.1)
            except queue.Full:
                continue
            if leak:
                time.sleep(0.002)

    thread = threading.Thread(target=load)
    thread.start()
    for _ in clock:
        train_step(net, optimizer, batches.get())
    done.set()
    thread.join()


@program("app-leak", "-", "asyncio: requests wait for an answer that never comes", holder="tasks")
def asyncio_waiting(clock, leak):
    import torch

    net = network()[0]

    async def answer(x, ready):
        out = net(x)
        await ready.wait()
        return out

    async def serve():
        tasks = set()
        for _ in clock:
            ready = asyncio.Event()
            if not leak:
                ready.set()
            task = asyncio.ensure_future(answer(torch.randn(64, 512, device=place()), ready))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            await asyncio.sleep(0)

    asyncio.run(serve())


@program("host-growth", "-", "a loader's worker caches what it read")
def worker_cache(clock, leak):
    import torch

    class Reading(torch.utils.data.Dataset):
        def __init__(self):
            self.cache = {}

        def __len__(self):
            return 10**6

        def __getitem__(self, i):
            item = torch.full((64, 512), float(i))
            self.cache[i if leak else 0] = item.clone()
            return item

    net, optimizer, _ = network()
    batches = iter(torch.utils.data.DataLoader(Reading(), batch_size=None, num_workers=1))
    for _ in clock:
        train_step(net, optimizer, next(batches).to(place()))


@program("host-growth", "-", "the profiler runs over the whole training")
def profiler_on(clock, leak):
    import torch

    net, optimizer, x = network()
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    if leak:
        profiler.start()
    for _ in clock:
        train_step(net, optimizer, x)
    if leak:
        profiler.stop()


@program("host-growth", "-", "torch.compile: guards and code for each new shape")
def compile_shapes(clock, leak):
    import torch

    torch._dynamo.config.recompile_limit = 10**6
    torch._dynamo.config.accumulated_recompile_limit = 10**6
    net, _, x = network()
    compiled = torch.compile(net, backend="eager", dynamic=False)
    with torch.no_grad():
        for n in clock:
            compiled(torch.zeros(n + 1 if leak else n % 4 + 1, 512, device=place()))


@program("app-leak", "-", "numpyro: the states of the optimizer of each step", holder="states")
def numpyro_states(clock, leak):
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal

    def model(x, y):
        w = numpyro.sample("w", dist.Normal(jnp.zeros(4096), 1).to_event(1))
        numpyro.sample("y", dist.Normal(x @ w, 1), obs=y)

    x, y = jnp.ones((16, 4096)), jnp.ones(16)
    svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(1e-3), Trace_ELBO())
    state, states = svi.init(jax.random.PRNGKey(0), x, y), []
    update = jax.jit(svi.update)
    for _ in clock:
        state, _ = update(state, x, y)
        if leak:
            states.append(state)


@program("app-leak", "-", "a server's worker threads keep the answers", holder="answers")
def threads_serve(clock, leak):
    import concurrent.futures

    import torch

    net, answers = network()[0].eval(), {}

    def serve(n):
        with torch.inference_mode():
            answers[n if leak else n % 16] = net(torch.randn(64, 512, device=place()))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for n in clock:
            pool.submit(serve, n).result()


@program("none", "-", "transformers: generation with caches of its own, all given back")
def hf_generate(clock, leak):
    import torch

    net = language_model().eval()
    for _ in clock:
        ids = torch.randint(1, 512, (1, 16), device=place())
        net.generate(ids, max_new_tokens=16, do_sample=False, pad_token_id=0)


@program("none", "-", "torch.compile with kernels and graphs of its own")
def compiled_training(clock, leak):
    import torch

    net, optimizer, x = network()
    net = torch.compile(net, mode="reduce-overhead")
    for _ in clock:
        train_step(net, optimizer, x)


if __name__ == "__main__":
    sys.exit(programs.main(__doc__))
