"""Language models: encoders, decoders with caches, mixtures, recurrences over state."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from registry import model
from vision import Block


class Bert(nn.Module):
    def __init__(self, c=32, heads=4, layers=2, words=50):
        super().__init__()
        self.word, self.position, self.kind = nn.Embedding(words, c), nn.Embedding(40, c), nn.Embedding(2, c)
        self.norm, self.heads = nn.LayerNorm(c), heads
        names = ("q", "k", "v", "out", "norm", "up", "down", "norm2")
        sizes = ((c, c), (c, c), (c, c), (c, c), None, (c, 2 * c), (2 * c, c), None)
        self.layers = nn.ModuleList([nn.ModuleDict({name: nn.Linear(*size) if size else nn.LayerNorm(c)
                                                    for name, size in zip(names, sizes)}) for _ in range(layers)])
        self.pool, self.head = nn.Linear(c, c), nn.Linear(c, 3)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, ids, kinds, mask):
        t = ids.shape[1]
        x = self.norm(self.word(ids) + self.kind(kinds) + self.position(torch.arange(t)[None]))
        far = (1.0 - mask[:, None, None, :].float()) * -10000.0
        for layer in self.layers:
            q, k, v = (self.split(layer[name](x)) for name in "qkv")
            weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + far, -1)
            y = (weights @ v).permute(0, 2, 1, 3).flatten(2)
            x = layer["norm"](layer["out"](y) + x)
            x = layer["norm2"](layer["down"](F.gelu(layer["up"](x))) + x)
        return x, self.head(torch.tanh(self.pool(x[:, 0])))


TOKENS = {"ids": {0: "N", 1: "T", "high": 49}, "kinds": {0: "N", 1: "T", "high": 1}, "mask": {0: "N", 1: "T", "high": 1}}


def some_tokens(*names, n=2, t=8):
    return tuple(torch.ones(n, t, dtype=torch.int64) for _ in names)


@model(TOKENS, {"N": 2, "T": 7}, by="both", opset=18)
def bert():
    return Bert(), some_tokens(*TOKENS)


class Gpt2(nn.Module):
    """A step of a decoder with a cache of keys and values."""

    def __init__(self, c=32, heads=4, layers=2):
        super().__init__()
        self.word, self.position, self.heads = nn.Embedding(50, c), nn.Embedding(40, c), heads
        self.norm = nn.ModuleList([nn.LayerNorm(c) for _ in range(2 * layers + 1)])
        self.qkv = nn.ModuleList([nn.Linear(c, 3 * c) for _ in range(layers)])
        self.out = nn.ModuleList([nn.Linear(c, c) for _ in range(layers)])
        self.up = nn.ModuleList([nn.Linear(c, 2 * c) for _ in range(layers)])
        self.down = nn.ModuleList([nn.Linear(2 * c, c) for _ in range(layers)])

    def forward(self, ids, past):
        n, t = ids.shape
        before = past.shape[4]
        at = torch.arange(before, before + t)
        x, present = self.word(ids) + self.position(at), []
        causal = torch.arange(before + t)[None, :] <= at[:, None]
        for i, qkv in enumerate(self.qkv):
            q, k, v = (y.view(n, t, self.heads, -1).transpose(1, 2) for y in qkv(self.norm[2 * i](x)).chunk(3, -1))
            k, v = torch.cat([past[i, 0], k], 2), torch.cat([past[i, 1], v], 2)
            present.append(torch.stack([k, v]))
            a = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
            a = torch.where(causal, a, torch.tensor(torch.finfo(torch.float32).min))
            x = x + self.out[i]((a.softmax(-1) @ v).transpose(1, 2).reshape(n, t, -1))
            y = self.up[i](self.norm[2 * i + 1](x))
            x = x + self.down[i](0.5 * y * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y ** 3))))
        return self.norm[-1](x) @ self.word.weight.t(), torch.stack(present)


@model({"ids": {0: "N", 1: "T", "high": 49}, "past": {2: "N", 4: "P"}}, {"N": 2, "T": 3, "P": 5}, by="both", opset=18)
def gpt2():
    return Gpt2(), (some_tokens("ids", t=3)[0], torch.zeros(2, 2, 2, 4, 4, 8))


class RMSNorm(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(c))

    def forward(self, x):
        y = x.float()
        return self.weight * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


class Llama(nn.Module):
    """Rotary positions, grouped queries, a cache, SwiGLU."""

    def __init__(self, c=32, heads=4, groups=2, layers=1):
        super().__init__()
        self.word, self.heads, self.groups, d = nn.Embedding(50, c), heads, groups, c // heads
        self.first, self.second, self.last = RMSNorm(c), RMSNorm(c), RMSNorm(c)
        self.q, self.k = nn.Linear(c, c, bias=False), nn.Linear(c, groups * d, bias=False)
        self.v, self.o = nn.Linear(c, groups * d, bias=False), nn.Linear(c, c, bias=False)
        self.gate, self.up, self.down = (nn.Linear(c, 2 * c, bias=False), nn.Linear(c, 2 * c, bias=False),
                                         nn.Linear(2 * c, c, bias=False))
        self.register_buffer("rate", 1.0 / 10000 ** (torch.arange(0, d, 2).float() / d))

    @staticmethod
    def turn(x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, ids, past_k, past_v):
        x = self.word(ids)
        n, t, c = x.shape
        before = past_k.shape[2]
        angle = torch.arange(before, before + t)[:, None].float() * self.rate
        cos, sin = torch.cat([angle, angle], -1).cos(), torch.cat([angle, angle], -1).sin()
        y = self.first(x)
        q = self.turn(self.q(y).view(n, t, self.heads, -1).transpose(1, 2), cos, sin)
        k = torch.cat([past_k, self.turn(self.k(y).view(n, t, self.groups, -1).transpose(1, 2), cos, sin)], 2)
        v = torch.cat([past_v, self.v(y).view(n, t, self.groups, -1).transpose(1, 2)], 2)
        r = self.heads // self.groups
        wide = [z[:, :, None].expand(-1, -1, r, -1, -1).reshape(n, self.heads, before + t, c // self.heads) for z in (k, v)]
        mask = torch.full((t, before + t), float("-inf")).triu(before + 1)
        a = torch.softmax(q @ wide[0].transpose(-1, -2) / math.sqrt(c // self.heads) + mask, -1)
        x = x + self.o((a @ wide[1]).transpose(1, 2).reshape(n, t, c))
        y = self.second(x)
        x = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return self.last(x) @ self.word.weight.t(), k, v


CACHED = {"ids": {0: "N", 1: "T", "high": 49}, "past_k": {0: "N", 2: "P"}, "past_v": {0: "N", 2: "P"}}


@model(CACHED, {"N": 2, "T": 4, "P": 3}, by="both", opset=18)
def llama():
    return Llama(), (some_tokens("ids", t=4)[0], torch.zeros(2, 2, 5, 8), torch.zeros(2, 2, 5, 8))


class LlamaSteps(nn.Module):
    """PyTorch's own attention operator, in half precision inside."""

    def __init__(self, c=32):
        super().__init__()
        self.q, self.k, self.v, self.norm = (nn.Linear(c, c), nn.Linear(c, c), nn.Linear(c, c), RMSNorm(c))

    def forward(self, x):
        y = self.norm(x)
        q, k, v = (f(y).unflatten(-1, (4, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        return x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)


@model({"x": {0: "N", 1: "T"}}, {"N": 2, "T": 9}, by="dynamo", opset=23)
def sdpa_half():
    return LlamaSteps().half(), (torch.zeros(2, 6, 32).half(),)


class T5(nn.Module):
    """Relative positions in buckets, an encoder and a decoder that attends to it."""

    def __init__(self, c=32, heads=4):
        super().__init__()
        self.heads, self.word, self.table = heads, nn.Embedding(50, c), nn.Embedding(8, heads)
        self.norm = nn.ModuleList([RMSNorm(c) for _ in range(5)])
        self.own, self.dec, self.cross = (nn.ModuleList([nn.Linear(c, c, bias=False) for _ in range(4)]) for _ in range(3))
        self.up, self.down = nn.Linear(c, 2 * c, bias=False), nn.Linear(2 * c, c, bias=False)

    def bias(self, t, causal):
        apart = torch.arange(t)[None, :] - torch.arange(t)[:, None]
        if causal:
            start, apart, buckets = torch.zeros_like(apart), (-apart).clamp(min=0), 8
        else:
            start, apart, buckets = (apart > 0).long() * 4, apart.abs(), 4
        exact = buckets // 2
        far = exact + (torch.log(apart.float().clamp(min=1) / exact) / math.log(16 / exact) * (buckets - exact)).long()
        bucket = start + torch.where(apart < exact, apart, far.clamp(max=buckets - 1))
        bias = self.table(bucket).permute(2, 0, 1)[None]
        return bias.masked_fill((torch.arange(t)[None, :] > torch.arange(t)[:, None]), -1e9) if causal else bias

    def attend(self, parts, x, memory, bias):
        q, k, v = (f(y).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f, y in zip(parts, (x, memory, memory)))
        a = (q @ k.transpose(-1, -2) + bias).softmax(-1)
        return parts[3]((a @ v).transpose(1, 2).flatten(2))

    def forward(self, ids, outs):
        x = self.word(ids)
        y = self.norm[0](x)
        x = x + self.attend(self.own, y, y, self.bias(ids.shape[1], False))
        x = x + self.down(F.relu(self.up(self.norm[1](x))))
        z = self.word(outs)
        y = self.norm[2](z)
        z = z + self.attend(self.dec, y, y, self.bias(outs.shape[1], True))
        z = z + self.attend(self.cross, self.norm[3](z), x, torch.zeros(1))
        return self.norm[4](z) @ self.word.weight.t()


@model({"ids": {0: "N", 1: "T", "high": 49}, "outs": {0: "N", 1: "U", "high": 49}}, {"N": 2, "T": 9, "U": 6}, by="both",
       opset=18)
def t5():
    return T5(), (some_tokens("ids", t=6)[0], some_tokens("ids", t=5)[0])


class Mixture(nn.Module):
    """The two best of four experts for each token."""

    def __init__(self, c=16, experts=4):
        super().__init__()
        self.block, self.gate, self.experts = Block(c, 2), nn.Linear(c, experts), experts
        self.up, self.down = nn.Parameter(torch.zeros(experts, c, 2 * c)), nn.Parameter(torch.zeros(experts, 2 * c, c))

    def forward(self, x):
        x = self.block(x)
        weight, chosen = torch.topk(self.gate(x).softmax(-1), 2)
        weight = weight / weight.sum(-1, keepdim=True)
        share = (F.one_hot(chosen, self.experts).float() * weight.unsqueeze(-1)).sum(-2)
        y = torch.einsum("ntc,ecd->ntde", x, self.up)
        y = torch.einsum("ntde,edc->ntec", F.silu(y), self.down)
        return x + (y * share.unsqueeze(-1)).sum(-2), chosen


@model({"x": {0: "N", 1: "T"}}, {"N": 2, "T": 5}, by="both", opset=18)
def moe():
    return Mixture(), (torch.zeros(2, 6, 16),)


class Selective(nn.Module):
    """Mamba's scan: state = decay * state + input, token by token."""

    def __init__(self, c=16, states=4):
        super().__init__()
        self.c, self.states = c, states
        self.inner, self.pick = nn.Linear(c, 2 * c), nn.Linear(c, c + 2 * states)
        self.conv = nn.Conv1d(c, c, 4, padding=3, groups=c)
        self.rate, self.skip, self.out = nn.Parameter(torch.zeros(c, states)), nn.Parameter(torch.ones(c)), nn.Linear(c, c)

    def forward(self, x):
        t = x.shape[1]
        y, gate = self.inner(x).split([self.c, self.c], -1)
        y = F.silu(self.conv(y.transpose(1, 2))[:, :, :t].transpose(1, 2))
        step, b, c = self.pick(y).split([self.c, self.states, self.states], -1)
        step = F.softplus(step)
        decay = torch.exp(step.unsqueeze(-1) * -torch.exp(self.rate))
        fed = (step * y).unsqueeze(-1) * b.unsqueeze(2)
        state, out = torch.zeros_like(fed[:, 0]), torch.zeros_like(y)
        for i in range(t):
            state = decay[:, i] * state + fed[:, i]
            out[:, i] = (state * c[:, i].unsqueeze(1)).sum(-1)
        return self.out((out + y * self.skip) * F.silu(gate))


@model({"x": {0: "N", 1: "T"}}, {"N": 2, "T": 6}, opset=17, scripted=True)
def mamba_loop():
    return Selective(), (torch.zeros(2, 5, 16),)


class Parallel(Selective):
    """The same, as products and cumulative sums."""

    def forward(self, x):
        t = x.shape[1]
        y, gate = self.inner(x).chunk(2, -1)
        y = F.silu(self.conv(y.transpose(1, 2))[:, :, :t].transpose(1, 2))
        step, b, c = self.pick(y).split([self.c, self.states, self.states], -1)
        step = F.softplus(step)
        sums = torch.cumsum(step.unsqueeze(-1) * -torch.exp(self.rate), 1)
        fed = (step * y).unsqueeze(-1) * b.unsqueeze(2)
        state = torch.exp(sums) * torch.cumsum(fed * torch.exp(-sums), 1)
        return self.out(((state * c.unsqueeze(2)).sum(-1) + y * self.skip) * F.silu(gate))


@model({"x": {0: "N", 1: "T"}}, {"N": 2, "T": 6}, by="both", opset=18)
def mamba():
    return Parallel(), (torch.zeros(2, 5, 16),)


class Rwkv(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.norm, self.norm2, self.mix = nn.LayerNorm(c), nn.LayerNorm(c), nn.Parameter(torch.zeros(3, c))
        self.k, self.v, self.r, self.o = (nn.Linear(c, c, bias=False) for _ in range(4))
        self.decay, self.bonus = nn.Parameter(torch.zeros(c)), nn.Parameter(torch.zeros(c))
        self.up, self.down, self.gate = nn.Linear(c, 2 * c), nn.Linear(2 * c, c), nn.Linear(c, c)

    def forward(self, x):
        y = self.norm(x)
        before = F.pad(y, (0, 0, 1, 0))[:, :-1]
        k = self.k(y * self.mix[0] + before * (1 - self.mix[0]))
        v = self.v(y * self.mix[1] + before * (1 - self.mix[1]))
        r = torch.sigmoid(self.r(y * self.mix[2] + before * (1 - self.mix[2])))
        over, under, most = torch.zeros_like(k[:, 0]), torch.zeros_like(k[:, 0]), torch.zeros_like(k[:, 0]) - 1e30
        out = torch.zeros_like(k)
        for i in range(x.shape[1]):
            top = torch.maximum(most, self.bonus + k[:, i])
            a, b = torch.exp(most - top), torch.exp(self.bonus + k[:, i] - top)
            out[:, i] = (a * over + b * v[:, i]) / (a * under + b)
            slow = most - torch.exp(self.decay)
            top = torch.maximum(slow, k[:, i])
            a, b = torch.exp(slow - top), torch.exp(k[:, i] - top)
            over, under, most = a * over + b * v[:, i], a * under + b, top
        x = x + self.o(r * out)
        y = self.norm2(x)
        return x + torch.sigmoid(self.gate(y)) * self.down(torch.relu(self.up(y)) ** 2)


@model({"x": {0: "N", 1: "T"}}, {"N": 2, "T": 5}, opset=17, scripted=True)
def rwkv():
    return Rwkv(), (torch.zeros(2, 4, 16),)
