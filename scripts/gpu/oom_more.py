"""Programs that run out of memory, as people write them, and their twins that do not. As oom.py:

    oom_more.py list [gpu|alone]     names and truths: a reason, or two that are both right; - for none
    oom_more.py CASE [twin]

The truths were written before gpumem had judged any of them. Each limits itself to 6 GiB at most
and ends within 25 seconds; those of `alone` fill the device."""
import copy, os, subprocess, sys, time
case, twin = sys.argv[1], len(sys.argv) > 2
CASES = {}
G, M = 1 << 30, 1 << 20
def truth(reason, where="gpu"):
    def add(f): CASES[f.__name__] = f, reason, where; return f
    return add
def torch_with(gib):
    """PyTorch, limited to so many GiB, and the device."""
    import torch
    torch.manual_seed(0)
    if not torch.cuda.is_available(): return torch, "cpu"
    torch.cuda.set_per_process_memory_fraction(gib * G / torch.cuda.get_device_properties(0).total_memory)
    return torch, "cuda"
def mlp(torch, dev, width=1024, layers=4):
    parts = [p for _ in range(layers) for p in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    return torch.nn.Sequential(*parts, torch.nn.Linear(width, width)).to(dev)
def gpt2(dev, layers=6, positions=1024):
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(vocab_size=16000, n_positions=positions, n_embd=512, n_layer=layers, n_head=8)).to(dev)

@truth("activations")
def finetune():
    """A language model of transformers', and a batch that is too large for the device."""
    torch, dev = torch_with(6)
    model = gpt2(dev); model.train(); optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(6):
        ids = torch.randint(0, 16000, (2 if twin or step < 5 else 64, 512), device=dev)
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward(); optimizer.step(); optimizer.zero_grad()
@truth("held|growth")
def generate():
    """Greedy decoding with a cache of keys and values that nobody bounds, for many texts at once."""
    torch, dev = torch_with(3)
    model = gpt2(dev, positions=4096).eval(); ids = torch.randint(0, 16000, (8 if twin else 256, 16), device=dev); cache = None
    with torch.no_grad():
        for _ in range(60 if twin else 3000):
            out = model(input_ids=ids, past_key_values=cache, use_cache=True)
            cache = out.past_key_values; ids = out.logits[:, -1:].argmax(-1)
@truth("held|growth")
def evaluation():
    """Training with an evaluation that collects all logits on the device before it computes its metric."""
    torch, dev = torch_with(4); F = torch.nn.functional
    model = torch.nn.Sequential(torch.nn.Embedding(8000, 256), torch.nn.Linear(256, 8000)).to(dev)
    optimizer = torch.optim.AdamW(model.parameters())
    def batch(): return torch.randint(0, 8000, (8, 256), device=dev)
    def evaluate():
        model.eval(); every = []
        with torch.no_grad():
            for _ in range(80):
                logits = model(batch()); every.append(logits.argmax(-1) if twin else logits); time.sleep(.01)
        return torch.cat(every)
    for epoch in range(2):
        model.train()
        for _ in range(20):
            ids = batch(); loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
            optimizer.zero_grad(); loss.backward(); optimizer.step()
        evaluate()
@truth("growth")
def gan():
    """A GAN that keeps its losses for a plot, and its graphs with them, by retain_graph."""
    torch, dev = torch_with(3); g, d = mlp(torch, dev), mlp(torch, dev)
    og, od = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters()); plot = []
    for step in range(120 if twin else 1200):
        real, fake = torch.randn(64, 1024, device=dev), g(torch.randn(64, 1024, device=dev))
        loss_d = d(fake.detach()).mean() - d(real).mean()
        od.zero_grad(); loss_d.backward(retain_graph=True); od.step()
        loss_g = -d(fake).mean()
        og.zero_grad(); loss_g.backward(retain_graph=True); og.step()
        plot.append((loss_d.item(), loss_g.item()) if twin else (loss_d, loss_g)); time.sleep(.01)
@truth("activations")
def accumulated():
    """Gradient accumulation that keeps the losses of all small batches for one backward pass."""
    torch, dev = torch_with(4); F = torch.nn.functional
    model = gpt2(dev); optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        losses = []
        for _ in range(16):
            ids = torch.randint(0, 16000, (4, 256), device=dev); loss = model(input_ids=ids, labels=ids).loss / 16
            if twin: loss.backward()
            else: losses.append(loss)
        if losses: sum(losses).backward()
        optimizer.step(); optimizer.zero_grad()
@truth("weights")
def ema():
    """A second copy of the weights for their moving average, before the training begins."""
    torch, dev = torch_with(3)
    model = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096, bias=False) for _ in range(28)]).to(dev)
    average = copy.deepcopy(model.cpu() if twin else model)
    for p in average.parameters(): p.requires_grad_(False)
@truth("optimizer-state")
def amp():
    """Mixed precision with two optimizers; the second one's first step comes late."""
    torch, dev = torch_with(6)
    def half(n): return torch.nn.Sequential(*[torch.nn.Linear(4096, 4096, bias=False) for _ in range(n)]).to(dev)
    body, head = half(8), half(4 if twin else 18)
    first, second = torch.optim.AdamW(body.parameters()), torch.optim.AdamW(head.parameters())
    scaler = torch.cuda.amp.GradScaler(enabled=dev == "cuda") if not hasattr(torch.amp, "GradScaler") else torch.amp.GradScaler(dev)
    for step in range(6):
        with torch.autocast(dev, dtype=torch.bfloat16): loss = head(body(torch.randn(16, 4096, device=dev))).float().mean()
        scaler.scale(loss).backward()
        scaler.step(first)
        if step >= 3: scaler.step(second)
        scaler.update(); first.zero_grad(set_to_none=True)
@truth("growth|held")
def replay():
    """A replay buffer that is put together anew, and longer, with each episode."""
    torch, dev = torch_with(3); buffer = torch.zeros(0, 256, 1024, device=dev)
    with torch.no_grad():
        for episode in range(60 if twin else 2500):
            new = torch.randn(1, 256, 1024, device=dev)
            buffer = torch.cat([buffer, new])[-100 if twin else 0:]; time.sleep(.005)
@truth("activations")
def attention():
    """Attention that writes its scores out, every position with every other."""
    torch, dev = torch_with(4); T, H, D = 1024 if twin else 8192, 8, 64
    class Attention(torch.nn.Module):
        def __init__(s): super().__init__(); s.qkv, s.out = torch.nn.Linear(H*D, 3*H*D), torch.nn.Linear(H*D, H*D)
        def forward(s, x):
            q, k, v = s.qkv(x).view(1, -1, 3, H, D).permute(2, 0, 3, 1, 4)
            weights = torch.softmax(q @ k.transpose(-1, -2) / D**.5, -1)
            return s.out((torch.nn.functional.dropout(weights, .1) @ v).transpose(1, 2).flatten(2))
    model = Attention().to(dev); optimizer = torch.optim.SGD(model.parameters(), lr=.1)
    for length in (256, 512, T):
        loss = model(torch.randn(1, length, H*D, device=dev)).square().mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
@truth("held")
def preload():
    """A dataset that moves all of its samples to the device when it is made."""
    torch, dev = torch_with(4)
    class Pictures(torch.utils.data.Dataset):
        def __init__(s, n): s.samples = [(torch.randn(3, 512, 512).to(dev), k % 10) for k in range(n)]
        def __len__(s): return len(s.samples)
        def __getitem__(s, k): return s.samples[k]
    data = Pictures(100 if twin else 1600)
    model = torch.nn.Conv2d(3, 8, 3).to(dev); model(data[0][0][None])
@truth("no-grad")
def predict():
    """A prediction in eval mode with gradients on: one batch is too much that would fit without."""
    torch, dev = torch_with(4); model = mlp(torch, dev, 2048, 12).eval(); x = torch.randn(40000, 2048, device=dev)
    if twin:
        with torch.no_grad(): print(model(x).mean())
    else: print(model(x).mean())
@truth("no-grad")
def validation():
    """Between epochs the losses of a validation are added up, in eval mode, with gradients on."""
    torch, dev = torch_with(4); model = mlp(torch, dev, 1024, 8); criterion = torch.nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(2):
        model.train()
        for _ in range(20):
            x = torch.randn(256, 1024, device=dev); loss = criterion(model(x), x)
            optimizer.zero_grad(); loss.backward(); optimizer.step()
        model.eval(); total = 0.0
        with torch.set_grad_enabled(not twin):
            for _ in range(200):
                x = torch.randn(1024, 1024, device=dev); total += criterion(model(x), x)
        print(total / 200)
@truth("held")
def retry():
    """An error that is kept, and with it the variables of the functions that it went through."""
    torch, dev = torch_with(4); errors = []
    def work(n):
        first = torch.randn(n, 1024, 1024, device=dev); second = first * 2; third = second.exp()
        return third.mean()
    with torch.no_grad():
        for n in (400, 340, 280):
            try: print(work(n)); return
            except RuntimeError as error:
                if not twin: errors.append(error)
            if twin: torch.cuda.empty_cache()  # else blocks of the size before are in the way
        print(work(240))
@truth("growth|no-grad")
def stream():
    """A recurrent network reads an endless stream; its state goes on with the graph of all before."""
    torch, dev = torch_with(3); cell = torch.nn.GRUCell(512, 512).to(dev); h = torch.zeros(1024, 512, device=dev)
    for step in range(80 if twin else 3000):
        h = cell(torch.randn(1024, 512, device=dev), h); time.sleep(.02)
        if twin: h = h.detach()
        if step % 50 == 0: print(step, float(h.mean()))
@truth("activations")
def pictures():
    """A ResNet of torchvision's, with pictures that are four times as wide as those it was tried with."""
    torch, dev = torch_with(6); from torchvision.models import resnet18
    model = resnet18(num_classes=10).to(dev); optimizer = torch.optim.SGD(model.parameters(), lr=.1, momentum=.9)
    for step in range(6):
        x = torch.randn(16, 3, *((224, 224) if twin or step < 5 else (1344, 1344)), device=dev)
        loss = torch.nn.functional.cross_entropy(model(x), torch.zeros(16, dtype=torch.long, device=dev))
        optimizer.zero_grad(); loss.backward(); optimizer.step()
@truth("activations")
def graph():
    """A graph network that computes a message for each edge of the whole graph."""
    torch, dev = torch_with(5); from torch_geometric.nn import GATConv
    n, edges = 20000, 50000 if twin else 4000000; a, b = GATConv(64, 64, heads=4).to(dev), GATConv(256, 10).to(dev)
    optimizer = torch.optim.Adam([*a.parameters(), *b.parameters()]); x = torch.randn(n, 64, device=dev)
    for k in (1000, edges):
        index = torch.randint(0, n, (2, k), device=dev)
        loss = b(a(x, index).relu(), index).square().mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
@truth("growth|held")
def lightning():
    """A LightningModule that appends what each training step returns to a list of its own."""
    torch, dev = torch_with(3); import pytorch_lightning as pl; import logging, warnings
    warnings.filterwarnings("ignore"); logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    class Module(pl.LightningModule):
        def __init__(s): super().__init__(); s.net, s.seen = mlp(torch, "cpu"), []
        def training_step(s, batch, batch_idx):
            y = s.net(batch); s.seen.append(y.mean().item() if twin else y); time.sleep(.01)
            return y.square().mean()
        def configure_optimizers(s): return torch.optim.Adam(s.parameters())
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(s): return (torch.randn(2048, 1024) for _ in range(100 if twin else 1500))
    trainer = pl.Trainer(max_epochs=1, accelerator="gpu" if dev == "cuda" else "cpu", devices=1, logger=False,
                         enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Module(), torch.utils.data.DataLoader(Stream(), batch_size=None))
@truth("request")
def dense():
    """A sparse matrix that is made dense."""
    torch, dev = torch_with(4); n = 4000 if twin else 40000
    index = torch.randint(0, n, (2, 100000), device=dev)
    torch.sparse_coo_tensor(index, torch.ones(100000, device=dev), (n, n)).to_dense().sum()
@truth("weights")
def llama():
    """A language model that is larger than the device, in full precision."""
    torch, dev = torch_with(4); from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=4 if twin else 24,
                         num_attention_heads=32, num_key_value_heads=4)
    torch.set_default_dtype(torch.float32)
    with torch.device("meta"): model = LlamaForCausalLM(config)
    model.to_empty(device=dev).eval()
def jax_with(gib):
    """JAX, limited to so many GiB."""
    total = 80.0
    try: total = float(subprocess.run(["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"], capture_output=True, text=True).stdout.split()[0]) / 1024
    except (OSError, IndexError, ValueError): pass
    os.environ.update(XLA_PYTHON_CLIENT_PREALLOCATE="false", XLA_PYTHON_CLIENT_MEM_FRACTION="%.4f" % (gib / total))
    import jax
    return jax
@truth("activations|request")
def jaxstep():
    """The compiled gradient of a deep network, with a batch that is too large."""
    jax = jax_with(3); jnp = jax.numpy
    weights = [jnp.ones((1024, 1024)) * .01 for _ in range(12)]
    def loss(weights, x):
        for w in weights: x = jnp.tanh(x @ w)
        return (x ** 2).mean()
    step = jax.jit(jax.grad(loss))
    for n in (256, 512, 512 if twin else 200000): jax.block_until_ready(step(weights, jnp.ones((n, 1024))))
@truth("growth|held")
def jaxhistory():
    """The parameters of each step are kept as arrays."""
    jax = jax_with(3); jnp = jax.numpy; update = jax.jit(lambda w: w * .999); w = jnp.ones((2048, 2048)); kept = []
    for step in range(60 if twin else 600):
        w = update(w); w.block_until_ready(); time.sleep(.03)
        if not twin: kept.append(w)
def cupy_with(gib):
    import cupy
    cupy.get_default_memory_pool().set_limit(size=int(gib * G))
    return cupy
@truth("growth|held")
def cupyframes():
    """The frames of a film, all kept on the device."""
    cupy = cupy_with(3); frames = []
    for k in range(60 if twin else 1500):
        frame = cupy.random.random((1024, 1024), dtype=cupy.float32) * 2; time.sleep(.01)
        frames.append(float(frame.mean()) if twin else frame)
@truth("request")
def cupypairs():
    """The distances of all pairs of points, at once."""
    cupy = cupy_with(3); n = 2000 if twin else 40000; x = cupy.random.random((n, 3), dtype=cupy.float32)
    print(float(((x[:, None] - x[None]) ** 2).sum()))
@truth("other-framework", "alone")
def cupytorch():
    """What CuPy freed stays in its pool, and PyTorch asks the same device for memory."""
    import cupy, torch
    torch.zeros(1, device="cuda"); free, _ = torch.cuda.mem_get_info(); pieces = [cupy.empty(G, dtype=cupy.uint8) for _ in range(free // G - 3)]
    del pieces
    if twin: cupy.get_default_memory_pool().free_all_blocks()
    kept = [torch.empty(G, dtype=torch.uint8, device="cuda") for _ in range(5)]

if case == "list":
    for name, (_, reason, where) in CASES.items():
        if len(sys.argv) < 3 or sys.argv[2] == where: print(name, reason)
    sys.exit()
CASES[case][0]()
print("done")
