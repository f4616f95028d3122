"""One case a call: CASE [twin]. Prints what it did; a healthy twin ends with code 0."""
import os, subprocess, sys, time
import torch, torch.nn as nn, torch.nn.functional as F
case, twin = sys.argv[1], len(sys.argv) > 2
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
def step(m, o, B):
    i, y = batch(B), batch(B)
    loss = F.cross_entropy(m(i).flatten(0, 1), y.flatten()); o.zero_grad(set_to_none=True); loss.backward(); o.step()
def leak():
    limit(6); m = GPT().to(dev); o = torch.optim.AdamW(m.parameters()); kept = []
    for k in range(60 if twin else 400):
        step(m, o, 8); time.sleep(.02)
        if not twin: kept.append(torch.empty(24*M, dtype=torch.uint8, device=dev))
def activations():
    limit(6); m = GPT().to(dev); o = torch.optim.AdamW(m.parameters())
    for k in range(30): step(m, o, 8)
    if not twin: step(m, o, 128)
def optimizer():
    limit(9); m = nn.ModuleList(nn.Linear(8192, 8192, bias=False) for _ in range(6 if twin else 14)).to(dev)
    o = torch.optim.Adam(m.parameters())
    for p in m.parameters(): p.grad = torch.ones_like(p)
    o.step()
def mib(n): return torch.empty(n*M, dtype=torch.uint8, device=dev)
def fragment():
    # Three segments of 1 GiB, 400 MiB of each live: no 1 GiB is there in one piece.
    limit(3.8); x = [mib(1024) for _ in range(3)]; del x
    y = [mib(600) for _ in range(3)]; z = [mib(400) for _ in range(3)]; del y
    if twin: del z
    mib(1024)
def pieces():
    # One block of 8 MiB in each segment of 20 stays: expandable segments do not help.
    limit(4); b = [mib(8) for _ in range(330)]; del b[::2]
    if twin: del b
    mib(1024)
def other():
    p = subprocess.Popen([sys.executable, "-S", "-c", "import sys; sys.path[:0]=%r\nimport torch,time\nf,t=torch.cuda.mem_get_info()\nx=torch.empty(f-6*2**30,dtype=torch.uint8,device='cuda'); print('ok',flush=True); time.sleep(20)" % [q for q in sys.path if q]], stdout=subprocess.PIPE, env={k: v for k, v in os.environ.items() if not k.startswith("GPUMEM") and k not in ("LD_PRELOAD", "PYTHONPATH")})
    p.stdout.readline()
    if twin: p.kill(); p.wait(); time.sleep(1)
    try: x = [torch.empty(1*G, dtype=torch.uint8, device=dev) for _ in range(12)]
    finally: p.kill(); p.wait()
def nograd():
    limit(6); m = GPT().to(dev); outs = []
    with torch.set_grad_enabled(not twin):
        for k in range(40): outs.append(m(batch(8)).mean()); time.sleep(.01)
def caught():
    limit(6); m = GPT().to(dev); o = torch.optim.AdamW(m.parameters()); B = 8 if twin else 256
    while True:
        try: step(m, o, B); break
        except torch.OutOfMemoryError: B //= 2; o.zero_grad(set_to_none=True)
    print("fits", B)
def checkpoint():
    limit(4.5); f = os.environ["TMPD"] + "/c%d.pt" % os.getpid(); m = nn.ModuleList(nn.Linear(8192, 8192, bias=False) for _ in range(10)).to(dev)
    torch.save({k: v.cpu() for k, v in m.state_dict().items()}, f)
    try: m.load_state_dict(torch.load(f, map_location="cpu" if twin else dev))
    finally: os.unlink(f)
def weights():
    limit(3); nn.ModuleList(nn.Linear(8192, 8192, bias=False) for _ in range(8 if twin else 16)).to(dev)
def request():
    limit(4); torch.empty(1*G if twin else 40*G, dtype=torch.uint8, device=dev)
def stream():
    # What stays live in each segment keeps PyTorch from giving the segment back.
    limit(4); s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        x = [mib(1024) for _ in range(3)]; del x
        y = [mib(600) for _ in range(3)]; z = [mib(400) for _ in range(3)]; del y
    torch.cuda.synchronize()
    with torch.cuda.stream(s if twin else torch.cuda.current_stream()): kept = [mib(500) for _ in range(3)]
{f.__name__: f for f in (leak, activations, optimizer, fragment, other, nograd, caught, checkpoint, weights, request, stream, pieces)}[case]()
print("done", torch.cuda.max_memory_allocated())
