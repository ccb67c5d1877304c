"""Diffusion, recommendation, graphs, fields."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from registry import model
from vision import Attention


def waves(step, c):
    rate = torch.exp(-math.log(10000) * torch.arange(c // 2) / (c // 2))
    angle = step[:, None].float() * rate[None]
    return torch.cat([angle.cos(), angle.sin()], -1)


class Residual(nn.Module):
    def __init__(self, a, b, t):
        super().__init__()
        self.norm, self.first, self.time = nn.GroupNorm(4, a), nn.Conv2d(a, b, 3, padding=1), nn.Linear(t, b)
        self.norm2, self.second = nn.GroupNorm(4, b), nn.Conv2d(b, b, 3, padding=1)
        self.short = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x, t):
        h = self.first(F.silu(self.norm(x))) + self.time(F.silu(t))[:, :, None, None]
        return self.short(x) + self.second(F.silu(self.norm2(h)))


class Guided(nn.Module):
    """Self-attention, attention to a text, and a gated feed-forward, over the positions of an image."""

    def __init__(self, c, text, heads=2):
        super().__init__()
        self.heads, self.norm, self.inner, self.outer = heads, nn.GroupNorm(4, c), nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1)
        self.norms, self.own = nn.ModuleList([nn.LayerNorm(c) for _ in range(3)]), Attention(c, heads)
        self.q, self.k, self.v = nn.Linear(c, c, bias=False), nn.Linear(text, c, bias=False), nn.Linear(text, c, bias=False)
        self.o, self.gate, self.down = nn.Linear(c, c), nn.Linear(c, 4 * c), nn.Linear(2 * c, c)

    def forward(self, x, text):
        n, c, h, w = x.shape
        y = self.inner(self.norm(x)).permute(0, 2, 3, 1).reshape(n, h * w, c)
        y = y + self.own(self.norms[0](y))
        q, k, v = (z.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for z in (self.q(self.norms[1](y)), self.k(text), self.v(text)))
        a = (q @ k.transpose(-1, -2) * (c // self.heads) ** -0.5).softmax(-1)
        y = y + self.o((a @ v).transpose(1, 2).flatten(2))
        a, b = self.gate(self.norms[2](y)).chunk(2, -1)
        y = y + self.down(a * F.gelu(b))
        return x + self.outer(y.reshape(n, h, w, c).permute(0, 3, 1, 2))


class Denoise(nn.Module):
    def __init__(self):
        super().__init__()
        self.time, self.first = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32)), nn.Conv2d(4, 16, 3, padding=1)
        self.block, self.guide, self.down = Residual(16, 16, 32), Guided(16, 12), nn.Conv2d(16, 24, 3, 2, 1)
        self.middle, self.up, self.last = Residual(24, 24, 32), nn.Conv2d(24, 16, 3, padding=1), Residual(32, 16, 32)
        self.norm, self.head = nn.GroupNorm(4, 16), nn.Conv2d(16, 4, 3, padding=1)

    def forward(self, latent, step, text):
        t = self.time(waves(step, 16))
        a = self.guide(self.block(self.first(latent), t), text)
        b = F.interpolate(self.middle(self.down(a), t), scale_factor=2.0, mode="nearest")
        return self.head(F.silu(self.norm(self.last(torch.cat([self.up(b), a], 1), t))))


@model({"latent": {0: "N", 2: "H", 3: "W"}, "step": {0: "N"}, "text": {0: "N"}}, {"N": 2, "H": 8, "W": 12}, opset=17)
def diffusion_open():
    return Denoise(), (torch.zeros(2, 4, 8, 8), torch.tensor([3.0, 7.0]), torch.zeros(2, 5, 12))


@model({"latent": {0: "N"}, "step": {0: "N"}, "text": {0: "N"}}, {"N": 2}, by="dynamo", opset=18)
def diffusion():
    return Denoise(), (torch.zeros(2, 4, 8, 8), torch.tensor([3.0, 7.0]), torch.zeros(2, 5, 12))


class Decode(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.mid = nn.Conv2d(4, 16, 3, padding=1), nn.GroupNorm(4, 16), Attention(16, 1)
        self.norm2, self.conv, self.up = nn.GroupNorm(4, 16), nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(16, 8, 3, padding=1)
        self.norm3, self.head = nn.GroupNorm(4, 8, eps=1e-6), nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, latent):
        x = self.first(latent / 0.18215)
        n, c, h, w = x.shape
        x = x + self.mid(self.norm(x).flatten(2).transpose(1, 2)).transpose(1, 2).view(n, c, h, w)
        x = x + self.conv(F.silu(self.norm2(x)))
        x = self.up(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        x = self.head(F.silu(self.norm3(x)))
        return ((x / 2 + 0.5).clamp(0, 1) * 255).round().to(torch.uint8)


@model({"latent": {0: "N"}}, {"N": 1}, by="both", opset=18)
def vae_decoder():
    return Decode(), (torch.zeros(2, 4, 6, 8),)


class DiT(nn.Module):
    """A transformer whose norms are scaled and shifted by the step and the class."""

    def __init__(self, c=24, patch=2):
        super().__init__()
        self.patch, self.inner = patch, nn.Conv2d(4, c, patch, patch)
        self.time, self.label = nn.Sequential(nn.Linear(16, c), nn.SiLU(), nn.Linear(c, c)), nn.Embedding(5, c)
        self.norm, self.norm2 = nn.LayerNorm(c, elementwise_affine=False, eps=1e-6), nn.LayerNorm(c, elementwise_affine=False)
        self.attention, self.mlp = Attention(c, 4), nn.Sequential(nn.Linear(c, 2 * c), nn.GELU("tanh"), nn.Linear(2 * c, c))
        self.adapt, self.head, self.place = nn.Linear(c, 6 * c), nn.Linear(c, 4 * patch ** 2), nn.Parameter(torch.zeros(1, 16, c))

    def forward(self, latent, step, label):
        x = self.inner(latent)
        n, c, h, w = x.shape
        x = x.flatten(2).transpose(1, 2) + self.place
        shift, scale, gate, shift2, scale2, gate2 = self.adapt(F.silu(self.time(waves(step, 16)) + self.label(label))).chunk(6, 1)
        x = x + gate.unsqueeze(1) * self.attention(self.norm(x) * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1))
        x = x + gate2.unsqueeze(1) * self.mlp(self.norm2(x) * (1 + scale2.unsqueeze(1)) + shift2.unsqueeze(1))
        p = self.patch
        x = self.head(x).view(n, h, w, p, p, 4)
        return torch.einsum("nhwpqc->nchpwq", x).reshape(n, 4, h * p, w * p)


@model({"latent": {0: "N"}, "step": {0: "N"}, "label": {0: "N", "high": 4}}, {"N": 3}, by="both", opset=18)
def dit():
    return DiT(), (torch.zeros(2, 4, 8, 8), torch.tensor([3.0, 7.0]), torch.tensor([1, 2]))


def mlp(*sizes, act=nn.ReLU):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


class Dlrm(nn.Module):
    """Sums of embeddings, products of all pairs, a perceptron."""

    def __init__(self, c=8, tables=3):
        super().__init__()
        self.bottom, self.top = mlp(4, 16, c), mlp(c + tables * (tables + 1) // 2, 16, 1)
        self.tables = nn.ModuleList([nn.Embedding(20, c) for _ in range(tables)])
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))

    def forward(self, dense, ids):
        x = self.bottom(dense)
        every = torch.stack([x, *(table(ids[:, i]).sum(1) for i, table in enumerate(self.tables))], 1)
        products = torch.bmm(every, every.transpose(1, 2))
        return torch.sigmoid(self.top(torch.cat([x, products[:, self.pairs[0], self.pairs[1]]], 1)))


@model({"dense": {0: "N"}, "ids": {0: "N", "high": 19}}, {"N": 5}, by="both", opset=18)
def dlrm():
    return Dlrm(), (torch.zeros(2, 4), torch.zeros(2, 3, 2, dtype=torch.int64))


class DeepFM(nn.Module):
    def __init__(self, fields=5, c=6):
        super().__init__()
        self.linear, self.embed, self.deep = nn.Embedding(40, 1), nn.Embedding(40, c), mlp(fields * c, 16, 8, 1)
        self.register_buffer("start", torch.arange(fields) * 8)

    def forward(self, ids):
        at = ids + self.start
        e = self.embed(at)
        second = 0.5 * (e.sum(1).pow(2) - e.pow(2).sum(1)).sum(1, keepdim=True)
        return torch.sigmoid(self.linear(at).sum(1) + second + self.deep(e.flatten(1))).squeeze(1)


@model({"ids": {0: "N", "high": 7}}, {"N": 6}, opset=11)
def deepfm():
    return DeepFM(), (torch.zeros(2, 5, dtype=torch.int64),)


class Ncf(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.user, self.item, self.user2, self.item2 = (nn.Embedding(30, c) for _ in range(4))
        self.deep, self.head = mlp(2 * c, 16, 8), nn.Linear(c + 8, 1)

    def forward(self, user, item):
        deep = F.relu(self.deep(torch.cat([self.user2(user), self.item2(item)], -1)))
        score = self.head(torch.cat([self.user(user) * self.item(item), deep], -1)).squeeze(-1)
        return torch.sigmoid(score), torch.topk(score, 2, largest=True, sorted=True)[1]


@model({"user": {0: "N", "high": 29}, "item": {0: "N", "high": 29}}, {"N": 7}, opset=15)
def ncf():
    return Ncf(), (torch.zeros(4, dtype=torch.int64), torch.zeros(4, dtype=torch.int64))


class Graph(nn.Module):
    """Graph convolution and graph attention over a list of edges, by scatters."""

    def __init__(self, c=8):
        super().__init__()
        self.first, self.second, self.a, self.b = nn.Linear(5, c), nn.Linear(c, c), nn.Linear(c, 1), nn.Linear(c, 1)
        self.head = nn.Linear(c, 3)

    def forward(self, x, edges):
        start, end = edges[0], edges[1]
        n = x.shape[0]
        degree = torch.zeros(n).scatter_add(0, end, torch.ones_like(end, dtype=torch.float32)) + 1
        scale = degree.rsqrt()
        y = self.first(x)
        message = y[start] * (scale[start] * scale[end]).unsqueeze(-1)
        y = F.relu(torch.zeros_like(y).scatter_add(0, end.unsqueeze(-1).expand_as(message), message) + y / degree.unsqueeze(-1))
        z = self.second(y)
        score = F.leaky_relu(self.a(z)[start] + self.b(z)[end], 0.2).squeeze(-1)
        top = torch.full((n,), -1e9).scatter_reduce(0, end, score, "amax", include_self=True)
        weight = torch.exp(score - top[end])
        total = torch.zeros(n).scatter_add(0, end, weight)
        message = z[start] * (weight / (total[end] + 1e-9)).unsqueeze(-1)
        return self.head(torch.zeros_like(z).scatter_add(0, end.unsqueeze(-1).expand_as(message), message) + z)


@model({"x": {0: "V"}, "edges": {1: "E", "high": 6}}, {"V": 7, "E": 15}, by="both", opset=18)
def graph():
    return Graph(), (torch.zeros(7, 5), torch.ones(2, 9, dtype=torch.int64))


class Field(nn.Module):
    """A radiance field: positional encoding, a perceptron, colours accumulated along each ray."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rates", 2.0 ** torch.arange(3) * math.pi)
        self.body, self.density, self.colour = mlp(21, 16, 16), nn.Linear(16, 1), mlp(19, 8, 3)

    def forward(self, origin, way):
        depth = torch.linspace(0.1, 1.0, 6)
        x = origin[:, None] + way[:, None] * depth[:, None]
        angle = (x.unsqueeze(-1) * self.rates).flatten(-2)
        h = F.relu(self.body(torch.cat([x, angle.sin(), angle.cos()], -1)))
        alpha = 1 - torch.exp(-F.softplus(self.density(h).squeeze(-1)) * 0.18)
        left = torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], -1)
        through = torch.exp(torch.cumsum(torch.log(left), -1))[:, :-1]
        colour = torch.sigmoid(self.colour(torch.cat([h, way[:, None].expand(-1, 6, -1)], -1)))
        weight = alpha * through
        return (weight.unsqueeze(-1) * colour).sum(1), (weight * depth).sum(1)


@model({"origin": {0: "N"}, "way": {0: "N"}}, {"N": 5}, by="dynamo", opset=18)
def nerf():
    return Field(), (torch.zeros(4, 3), torch.ones(4, 3))
