"""One case a call: CASE [twin]. Prints what it did; a healthy twin ends with code 0.

    oom.py list [gpu|host|alone]     names and truths: the reason that gpumem must tell, - for none

Each case limits itself, or fills what is there: none depends on the size of the device. Those of
`host` need no GPU and were run on a processor; `alone` fill the device, and run beside nothing else;
all others, `gpu`, need a GPU, some 10 GiB of it, and end within a minute."""
import ctypes, mmap, os, resource, subprocess, sys, time
import torch, torch.nn as nn, torch.nn.functional as F
case, twin = sys.argv[1], len(sys.argv) > 2
CASES = {}
def truth(reason, where="gpu"):
    def add(f): CASES[f.__name__] = f, reason, where; return f
    return add
dev = "cuda"; G = 1 << 30; M = 1 << 20
def limit(gib): torch.cuda.set_per_process_memory_fraction(gib * G / torch.cuda.get_device_properties(0).total_memory)
class Block(nn.Module):
    def __init__(s, d, h):
        super().__init__(); s.l1 = nn.LayerNorm(d); s.qkv = nn.Linear(d, 3*d); s.o = nn.Linear(d, d); s.l2 = nn.LayerNorm(d); s.up = nn.Linear(d, 4*d); s.down = nn.Linear(4*d, d); s.h = h
    def forward(s, x):
        B, T, D = x.shape
        q, k, v = s.qkv(s.l1(x)).view(B, T, 3, s.h, D//s.h).permute(2, 0, 3, 1, 4)
        x = x + s.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, D))
        return x + s.down(F.gelu(s.up(s.l2(x))))
class GPT(nn.Module):
    def __init__(s, d=512, n=6, h=8, V=16000, T=256):
        super().__init__(); s.V = V; s.e = nn.Embedding(V, d); s.b = nn.ModuleList(Block(d, h) for _ in range(n)); s.f = nn.LayerNorm(d); s.head = nn.Linear(d, V, bias=False)
    def forward(s, i):
        x = s.e(i)
        for b in s.b: x = b(x)
        return s.head(s.f(x))
def batch(B, V=16000, T=256): return torch.randint(0, V, (B, T), device=dev)
def step(m, o, B, T=256):
    i, y = batch(B, T=T), batch(B, T=T)
    loss = F.cross_entropy(m(i).flatten(0, 1), y.flatten()); o.zero_grad(set_to_none=True); loss.backward(); o.step()
@truth("growth")
def leak():
    limit(6); m = GPT().to(dev); o = torch.optim.AdamW(m.parameters()); kept = []
    for k in range(60 if twin else 400):
        step(m, o, 8); time.sleep(.02)
        if not twin: kept.append(torch.empty(24*M, dtype=torch.uint8, device=dev))
@truth("activations")
def activations():
    limit(6); m = GPT().to(dev); o = torch.optim.AdamW(m.parameters())
    for k in range(30): step(m, o, 8)
    if not twin: step(m, o, 128)
@truth("optimizer-state")
def optimizer():
    limit(9); m = nn.ModuleList(nn.Linear(8192, 8192, bias=False) for _ in range(6 if twin else 14)).to(dev)
    o = torch.optim.Adam(m.parameters())
    for p in m.parameters(): p.grad = torch.ones_like(p)
    o.step()
def mib(n): return torch.empty(n*M, dtype=torch.uint8, device=dev)
@truth("fragmentation")
def fragment():
    # Three segments of 1 GiB, 400 MiB of each live: no 1 GiB is there in one piece.
    limit(3.8); x = [mib(1024) for _ in range(3)]; del x
    y = [mib(600) for _ in range(3)]; z = [mib(400) for _ in range(3)]; del y
    if twin: del z
    mib(1024)
@truth("fragmentation")
def pieces():
    # One block of 8 MiB in each segment of 20 stays: expandable segments do not help.
    limit(4); b = [mib(8) for _ in range(330)]; del b[::2]
    if twin: del b
    mib(1024)
@truth("other-process", "alone")
def other():
    p = subprocess.Popen([sys.executable, "-S", "-c", "import sys; sys.path[:0]=%r\nimport torch,time\nf,t=torch.cuda.mem_get_info()\nx=torch.empty(f-6*2**30,dtype=torch.uint8,device='cuda'); print('ok',flush=True); time.sleep(20)" % [q for q in sys.path if q]], stdout=subprocess.PIPE, env={k: v for k, v in os.environ.items() if not k.startswith("GPUMEM") and k not in ("LD_PRELOAD", "PYTHONPATH")})
    p.stdout.readline()
    if twin: p.kill(); p.wait(); time.sleep(1)
    try: x = [torch.empty(1*G, dtype=torch.uint8, device=dev) for _ in range(12)]
    finally: p.kill(); p.wait()
@truth("no-grad")
def nograd():
    limit(6); m = GPT().to(dev); outs = []
    with torch.set_grad_enabled(not twin):
        for k in range(40): outs.append(m(batch(8)).mean()); time.sleep(.01)
@truth("caught")
def caught():
    limit(6); m = GPT().to(dev); o = torch.optim.AdamW(m.parameters()); B = 8 if twin else 256
    while True:
        try: step(m, o, B); break
        except torch.OutOfMemoryError: B //= 2; o.zero_grad(set_to_none=True)
    print("fits", B)
@truth("checkpoint")
def checkpoint():
    limit(4.5); f = os.environ["TMPD"] + "/c%d.pt" % os.getpid(); m = nn.ModuleList(nn.Linear(8192, 8192, bias=False) for _ in range(10)).to(dev)
    torch.save({k: v.cpu() for k, v in m.state_dict().items()}, f)
    try: m.load_state_dict(torch.load(f, map_location="cpu" if twin else dev))
    finally: os.unlink(f)
@truth("weights")
def weights():
    limit(3); nn.ModuleList(nn.Linear(8192, 8192, bias=False) for _ in range(8 if twin else 16)).to(dev)
@truth("request")
def request():
    limit(4); torch.empty(1*G if twin else 40*G, dtype=torch.uint8, device=dev)
@truth("other-stream")
def stream():
    # What stays live in each segment keeps PyTorch from giving the segment back.
    limit(4); s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        x = [mib(1024) for _ in range(3)]; del x
        y = [mib(600) for _ in range(3)]; z = [mib(400) for _ in range(3)]; del y
    torch.cuda.synchronize()
    with torch.cuda.stream(s if twin else torch.cuda.current_stream()): kept = [mib(500) for _ in range(3)]
@truth("growth")
def history():
    """The sum of the losses keeps the graph of every step."""
    limit(6); m = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(3)]).to(dev); total = 0
    for k in range(60 if twin else 1500):
        loss = m(torch.randn(512, 1024, device=dev)).square().mean(); total = total + (loss.detach() if twin else loss); time.sleep(.02)
@truth("activations")
def length():
    """One batch of sequences that are 32 times as long."""
    limit(6); m = GPT().to(dev); o = torch.optim.AdamW(m.parameters())
    for k in range(30): step(m, o, 8)
    if not twin: step(m, o, 8, 8192)
@truth("activations")
def logits():
    """A large vocabulary: the logits and their softmax are most of the step."""
    limit(7); V = 128000; m = GPT(d=256, n=2, h=4, V=V).to(dev); i = batch(1 if twin else 16, V, 512)
    F.cross_entropy(m(i).flatten(0, 1), i.flatten()).backward()
@truth("activations")
def accumulate():
    """The losses of many small batches are added up before one backward pass."""
    limit(6); m = GPT().to(dev); o = torch.optim.AdamW(m.parameters()); total = 0
    for k in range(24):
        i = batch(8); loss = F.cross_entropy(m(i).flatten(0, 1), i.flatten())
        if twin: loss.backward()
        else: total = total + loss
    if not twin: total.backward()
    o.step()
@truth("weights")
def twomodels():
    """A second model is made while the first is still there."""
    limit(3); make = lambda: nn.ModuleList(nn.Linear(8192, 8192, bias=False) for _ in range(8)).to(dev)
    a = make()
    if twin: del a
    b = make()
@truth("optimizer-state")
def momentum():
    """SGD keeps its state only after its first step: none is there when it fails."""
    limit(9); m = nn.ModuleList(nn.Linear(8192, 8192, bias=False) for _ in range(6 if twin else 14)).to(dev)
    o = torch.optim.SGD(m.parameters(), lr=.1, momentum=.9)
    for p in m.parameters(): p.grad = torch.ones_like(p)
    o.step()
@truth("held")
def results():
    """All outputs of an inference stay on the device."""
    limit(4); m = GPT().to(dev).eval(); outs = []
    with torch.no_grad():
        for k in range(40):
            p = F.softmax(m(batch(8)), -1); outs.append(p.mean().cpu() if twin else p)
@truth("fragmentation")
def sizes():
    """Blocks of many sizes, of which each third stays, in segments of 20 MiB."""
    limit(4); b = [mib(2 + k % 8) for k in range(640)]; kept = b[::3]; del b
    if twin: del kept
    mib(1536)
@truth("private-pool")
def graph():
    """What a CUDA graph works with stays in its private pool."""
    limit(4); total = torch.zeros((), device=dev)
    def work(): x = torch.ones(640*M, device=dev); total.add_(x.sum())  # 2.5 GiB
    if twin: work()
    else:
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g): work()
        g.replay()
    torch.cuda.synchronize(); kept = mib(2048)
@truth("driver", "alone")
def raw():
    """The program asks the driver itself, until it refuses."""
    torch.zeros(1, device=dev); cuda = ctypes.CDLL("libcuda.so.1"); p = ctypes.c_uint64()
    for k in range(4 if twin else 4096):
        code = cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(512*M))
        if code: raise RuntimeError("cuMemAlloc: %d" % code)
def room(mib):
    """Leaves so much address space beyond what is in use."""
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + mib * M,) * 2); time.sleep(.5)  # gpumem looks for limits now and then
@truth("host-memory", "host")
def hostlimit():
    """One large tensor on the processor beside another, beyond the limit of address space.
    One thread: those of OpenMP take address space, by the number of cores."""
    torch.set_num_threads(1); x = torch.ones(75*M); room(1024); y = torch.zeros((75 if twin else 384)*M)
@truth("growth", "host")
def hostgrowth():
    """Tensors that the program keeps on the processor, until its limit."""
    torch.set_num_threads(1); room(2000); kept = []
    for k in range(400):
        x = torch.ones(2*M)
        if not twin: kept.append(x)
        time.sleep(.04 if k < 300 else .01)
@truth("request", "host")
def hostrequest():
    """One tensor on the processor, larger than any address space."""
    torch.empty((1 << 20) if twin else (1 << 50), dtype=torch.uint8)
@truth("limit", "host")
def mappings():
    """As many mappings as the system allows, of one page each, and no two alike."""
    most = int(open("/proc/sys/vm/max_map_count").read())
    kept = []
    for k in range(1000 if twin else most + 1000):
        kept.append(mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | (mmap.PROT_WRITE if k % 2 else 0)))
if case == "list":
    for name, (_, reason, where) in CASES.items():
        if len(sys.argv) < 3 or sys.argv[2] == where: print(name, reason)
    sys.exit()
CASES[case][0]()
print("done", torch.cuda.max_memory_allocated() if torch.cuda.is_available() else "")
