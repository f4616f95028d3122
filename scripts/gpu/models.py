"""One small model a call; prints its name and torch.cuda.max_memory_allocated of the whole run."""
import sys, time
import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
dev = "cuda"; name = sys.argv[1]; N = 60
opt = None
if name == "encoder" or name == "autocast" or name == "accumulated" or name == "compiled":
    m = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True), 6).to(dev); o = torch.optim.AdamW(m.parameters())
    f = torch.compile(m) if name == "compiled" else m
    def step(k):
        for part in range(3 if name == "accumulated" else 1):
            with torch.autocast("cuda", torch.bfloat16, enabled=name == "autocast"):
                loss = f(torch.randn(32, 128, 256, device=dev)).square().mean()
            loss.backward()
        o.step(); o.zero_grad()
elif name == "conv":
    m = nn.Sequential(*[nn.Sequential(nn.Conv2d(3 if i == 0 else 64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()) for i in range(8)], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).to(dev); o = torch.optim.SGD(m.parameters(), .1, momentum=.9)
    def step(k):
        o.zero_grad(); F.cross_entropy(m(torch.randn(32, 3, 96, 96, device=dev)), torch.randint(0, 10, (32,), device=dev)).backward(); o.step()
elif name == "lstm":
    m = nn.LSTM(256, 512, 2, batch_first=True).to(dev); o = torch.optim.Adam(m.parameters())
    def step(k): o.zero_grad(); m(torch.randn(64, 100, 256, device=dev))[0].square().mean().backward(); o.step()
elif name == "checkpointed":
    bl = nn.ModuleList(nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True) for _ in range(6)).to(dev); o = torch.optim.AdamW(bl.parameters())
    def step(k):
        x = torch.randn(32, 128, 256, device=dev, requires_grad=True)
        for b in bl: x = checkpoint(b, x, use_reentrant=False)
        o.zero_grad(); x.square().mean().backward(); o.step()
elif name == "two":
    a, b = nn.Linear(4096, 4096).to(dev), nn.Linear(4096, 4096).to(dev); oa, ob = torch.optim.Adam(a.parameters()), torch.optim.SGD(b.parameters(), .1)
    def step(k): oa.zero_grad(); ob.zero_grad(); b(F.relu(a(torch.randn(512, 4096, device=dev)))).square().mean().backward(); oa.step(); ob.step()
elif name == "gan":
    g = nn.Sequential(nn.Linear(128, 2048), nn.ReLU(), nn.Linear(2048, 4096)).to(dev); d = nn.Sequential(nn.Linear(4096, 2048), nn.ReLU(), nn.Linear(2048, 1)).to(dev); og, od = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
    def step(k):
        z = torch.randn(256, 128, device=dev); od.zero_grad(); (d(g(z).detach()).mean() - d(torch.randn(256, 4096, device=dev)).mean()).backward(); od.step()
        og.zero_grad(); (-d(g(z)).mean()).backward(); og.step()
elif name == "inference":
    import gpumem
    m = nn.MultiheadAttention(512, 8, batch_first=True).to(dev).eval()
    def step(k):
        with torch.no_grad():
            cache = torch.zeros(16, 0, 512, device=dev)
            for t in range(24): cache = torch.cat([cache, torch.randn(16, 1, 512, device=dev)], 1); m(cache[:, -1:], cache, cache)
        gpumem.step()
for k in range(N): step(k); torch.cuda.synchronize(); time.sleep(.005)
print("MAX", name, torch.cuda.max_memory_allocated())
