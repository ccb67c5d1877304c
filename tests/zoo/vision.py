"""Classification, segmentation, super-resolution, text in images."""
import torch
from torch import nn
from torch.nn import functional as F

from registry import model

IMAGE = {"image": {0: "N"}}
OPEN = {"image": {0: "N", 2: "H", 3: "W"}}


def conv(a, b, k=3, stride=1, groups=1, act=nn.ReLU, norm=nn.BatchNorm2d, dilation=1):
    layers = [nn.Conv2d(a, b, k, stride, dilation * (k // 2), dilation, groups, bias=False), norm(b)]
    return nn.Sequential(*layers, *([act()] if act else []))


class Bottleneck(nn.Module):
    def __init__(self, a, mid, b, stride=1):
        super().__init__()
        self.body = nn.Sequential(conv(a, mid, 1), conv(mid, mid, 3, stride), conv(mid, b, 1, act=None))
        self.short = conv(a, b, 1, stride, act=None) if a != b or stride > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x))


@model(IMAGE, {"N": 2}, by="both", opset=18)
def resnet():
    return nn.Sequential(conv(3, 8, 7, 2), nn.MaxPool2d(3, 2, 1), Bottleneck(8, 4, 16), Bottleneck(16, 4, 16),
                         Bottleneck(16, 8, 32, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(32, 10)), (torch.zeros(2, 3, 32, 32),)


class Excite(nn.Module):
    def __init__(self, c, act, gate):
        super().__init__()
        self.down, self.up, self.act, self.gate = nn.Conv2d(c, c // 4, 1), nn.Conv2d(c // 4, c, 1), act, gate

    def forward(self, x):
        return x * self.gate(self.up(self.act(self.down(x.mean((2, 3), keepdim=True)))))


class Inverted(nn.Module):
    def __init__(self, a, b, k, stride, act, gate):
        super().__init__()
        self.keep = a == b and stride == 1
        self.body = nn.Sequential(conv(a, 2 * a, 1, act=act), conv(2 * a, 2 * a, k, stride, 2 * a, act=act),
                                  Excite(2 * a, nn.ReLU(), gate), conv(2 * a, b, 1, act=None))

    def forward(self, x):
        return x + self.body(x) if self.keep else self.body(x)


@model(OPEN, {"N": 1, "H": 37, "W": 44}, opset=14)
def mobilenet_v3():
    act, gate = nn.Hardswish, nn.Hardsigmoid()
    return nn.Sequential(conv(3, 8, 3, 2, act=act), Inverted(8, 8, 3, 1, act, gate), Inverted(8, 16, 5, 2, act, gate),
                         Inverted(16, 16, 5, 1, act, gate), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 32),
                         nn.Hardswish(), nn.Linear(32, 10), nn.Softmax(-1)), (torch.zeros(1, 3, 32, 32),)


@model(IMAGE, {"N": 3}, by="dynamo", opset=20)
def efficientnet():
    return nn.Sequential(conv(3, 8, 3, 2, act=nn.SiLU), Inverted(8, 8, 3, 1, nn.SiLU, nn.Sigmoid()),
                         Inverted(8, 16, 5, 2, nn.SiLU, nn.Sigmoid()), Inverted(16, 16, 3, 1, nn.SiLU, nn.Sigmoid()),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)), (torch.zeros(2, 3, 33, 33),)


class Next(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.depth, self.norm = nn.Conv2d(c, c, 7, padding=3, groups=c), nn.LayerNorm(c)
        self.up, self.down, self.scale = nn.Linear(c, 4 * c), nn.Linear(4 * c, c), nn.Parameter(torch.ones(c))

    def forward(self, x):
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)


class ChannelNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


@model(OPEN, {"N": 1, "H": 32, "W": 48}, by="both", opset=18)
def convnext():
    return nn.Sequential(nn.Conv2d(3, 16, 4, 4), ChannelNorm(16), Next(16), Next(16), ChannelNorm(16),
                         nn.Conv2d(16, 24, 2, 2), Next(24)), (torch.zeros(2, 3, 32, 32),)


class Shuffle(nn.Module):
    """Split, transform one half, concatenate, shuffle channels."""

    def __init__(self, c):
        super().__init__()
        h = c // 2
        self.body = nn.Sequential(conv(h, h, 1), conv(h, h, 3, groups=h, act=None), conv(h, h, 1))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        x = torch.cat([a, self.body(b)], 1)
        n, c, h, w = x.shape
        return x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


@model(OPEN, {"N": 2, "H": 24, "W": 17}, opset=12)
def shufflenet():
    return nn.Sequential(conv(3, 16, 3, 2), Shuffle(16), Shuffle(16), nn.Flatten(2), nn.AdaptiveMaxPool1d(1)), (
        torch.zeros(1, 3, 32, 32),)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = conv(3, 8), conv(8, 16), conv(16, 16)
        self.up, self.merge = nn.ConvTranspose2d(16, 16, 2, 2), conv(32, 8)
        self.merge2, self.head = conv(16, 8), nn.Conv2d(8, 3, 1)

    def forward(self, image):
        a = self.first(image)
        b = self.second(F.max_pool2d(a, 2))
        c = self.third(F.max_pool2d(b, 2))
        b = self.merge(torch.cat([self.up(c), b], 1))
        a = self.merge2(torch.cat([F.interpolate(b, size=a.shape[2:], mode="bilinear", align_corners=True), a], 1))
        return torch.sigmoid(self.head(a))


@model(OPEN, {"N": 1, "H": 32, "W": 40}, opset=13)
def unet():
    return UNet(), (torch.zeros(1, 3, 32, 32),)


class DeepLab(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 3, 2), conv(8, 16, 3, 2))
        self.branches = nn.ModuleList([conv(16, 8, 1), *(conv(16, 8, 3, dilation=d) for d in (2, 3, 5))])
        self.pool, self.head = nn.Conv2d(16, 8, 1), nn.Sequential(conv(40, 16, 1), nn.Conv2d(16, 5, 1))

    def forward(self, image):
        x = self.stem(image)
        pooled = F.interpolate(self.pool(F.adaptive_avg_pool2d(x, 1)), size=x.shape[-2:], mode="bilinear",
                               align_corners=False)
        x = self.head(torch.cat([*(branch(x) for branch in self.branches), pooled], 1))
        return F.interpolate(x, size=image.shape[-2:], mode="bilinear", align_corners=False).argmax(1)


@model(OPEN, {"N": 1, "H": 36, "W": 28}, by="both", opset=18)
def deeplab():
    return DeepLab(), (torch.zeros(1, 3, 32, 32),)


class Mix(nn.Module):
    """SegFormer's block: attention with keys from a reduced image, then a convolutional feed-forward."""

    def __init__(self, c, heads, reduce):
        super().__init__()
        self.heads, self.norm, self.norm2, self.norm3 = heads, nn.LayerNorm(c), nn.LayerNorm(c), nn.LayerNorm(c)
        self.q, self.kv, self.out = nn.Linear(c, c), nn.Linear(c, 2 * c), nn.Linear(c, c)
        self.reduce = nn.Conv2d(c, c, reduce, reduce)
        self.up, self.depth, self.down = nn.Linear(c, 2 * c), nn.Conv2d(2 * c, 2 * c, 3, 1, 1, groups=2 * c), nn.Linear(2 * c, c)

    def forward(self, x, h: int, w: int):
        n, t, c = x.shape
        y = self.norm(x)
        q = self.q(y).reshape(n, t, self.heads, c // self.heads).transpose(1, 2)
        small = self.reduce(y.transpose(1, 2).reshape(n, c, h, w)).flatten(2).transpose(1, 2)
        kv = self.kv(self.norm2(small)).reshape(n, -1, 2, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        a = torch.softmax(q @ kv[0].transpose(-2, -1) * (c // self.heads) ** -0.5, -1)
        x = x + self.out((a @ kv[1]).transpose(1, 2).reshape(n, t, c))
        y = self.up(self.norm3(x)).transpose(1, 2).reshape(n, 2 * c, h, w)
        return x + self.down(F.gelu(self.depth(y).flatten(2).transpose(1, 2)))


class SegFormer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.block, self.patch2 = nn.Conv2d(3, 16, 7, 4, 3), Mix(16, 2, 2), nn.Conv2d(16, 32, 3, 2, 1)
        self.block2, self.proj, self.proj2, self.head = Mix(32, 4, 1), nn.Linear(16, 16), nn.Linear(32, 16), nn.Conv2d(32, 4, 1)

    def stage(self, x, patch, block):
        x = patch(x)
        n, c, h, w = x.shape
        return block(x.flatten(2).transpose(1, 2), h, w).transpose(1, 2).reshape(n, c, h, w)

    def forward(self, image):
        a = self.stage(image, self.patch, self.block)
        b = self.stage(a, self.patch2, self.block2)
        a = self.proj(a.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        b = self.proj2(b.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return self.head(torch.cat([a, F.interpolate(b, size=a.shape[2:], mode="bilinear")], 1))


@model(IMAGE, {"N": 2}, by="both", opset=18)
def segformer():
    return SegFormer(), (torch.zeros(2, 3, 64, 32),)


class Attention(nn.Module):
    """Self-attention with one product for query, key and value."""

    def __init__(self, c, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(c, 3 * c), nn.Linear(c, c)

    def forward(self, x, bias=None):
        n, t, c = x.shape
        q, k, v = self.qkv(x).reshape(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        a = q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5
        if bias is not None:
            a = a + bias
        return self.out((torch.softmax(a, -1) @ v).transpose(1, 2).reshape(n, t, c))


class Block(nn.Module):
    def __init__(self, c, heads):
        super().__init__()
        self.norm, self.attention, self.norm2 = nn.LayerNorm(c), Attention(c, heads), nn.LayerNorm(c)
        self.mlp = nn.Sequential(nn.Linear(c, 2 * c), nn.GELU(), nn.Linear(2 * c, c))

    def forward(self, x, bias=None):
        x = x + self.attention(self.norm(x), bias)
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, width=32, patches=16):
        super().__init__()
        self.patch, self.token = nn.Conv2d(3, width, 8, 8), nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.zeros(1, patches + 1, width))
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 4))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, image):
        x = self.patch(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        return self.head(self.norm(self.blocks(x))[:, 0])


@model(IMAGE, {"N": 3}, by="both", opset=18)
def vit():
    return ViT(), (torch.zeros(2, 3, 32, 32),)


def windows(x, size):
    n, h, w, c = x.shape
    return x.view(n, h // size, size, w // size, size, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, size * size, c)


def unwindows(x, size, h, w):
    c = x.shape[-1]
    return x.view(-1, h // size, w // size, size, size, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, h, w, c)


class SwinBlock(nn.Module):
    SIZE = 4

    def __init__(self, c, heads, shift):
        super().__init__()
        self.shift, self.block = shift, Block(c, heads)
        self.table = nn.Parameter(torch.zeros((2 * self.SIZE - 1) ** 2, heads))
        at = torch.stack(torch.meshgrid(torch.arange(self.SIZE), torch.arange(self.SIZE), indexing="ij")).flatten(1)
        apart = (at[:, :, None] - at[:, None, :]).permute(1, 2, 0) + self.SIZE - 1
        self.register_buffer("index", (apart[..., 0] * (2 * self.SIZE - 1) + apart[..., 1]).flatten())

    def forward(self, x):
        n, h, w, c = x.shape
        size, heads = self.SIZE, self.table.shape[1]
        bias = self.table[self.index].view(size * size, size * size, heads).permute(2, 0, 1)[None]
        if self.shift:
            x = torch.roll(x, (-self.shift, -self.shift), (1, 2))
            region = torch.zeros(h, w)
            region[-size:, :] += 1
            region[:, -size:] += 2
            label = windows(region[None, :, :, None], size)[..., 0]
            mask = (label[:, None, :] != label[:, :, None]).float() * -100.0
            bias = bias + mask[:, None].repeat(n, 1, 1, 1)
        x = unwindows(self.block(windows(x, size), bias), size, h, w)
        return torch.roll(x, (self.shift, self.shift), (1, 2)) if self.shift else x


class Swin(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.block, self.shifted = nn.Conv2d(3, 16, 4, 4), SwinBlock(16, 2, 0), SwinBlock(16, 2, 2)
        self.norm, self.merge, self.last = nn.LayerNorm(64), nn.Linear(64, 32, bias=False), SwinBlock(32, 4, 0)

    def forward(self, image):
        x = self.shifted(self.block(self.patch(image).permute(0, 2, 3, 1)))
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
        return self.last(self.merge(self.norm(x))).mean((1, 2))


@model(IMAGE, {"N": 2}, by="both", opset=18)
def swin():
    return Swin(), (torch.zeros(1, 3, 32, 32),)


class MaxViT(nn.Module):
    """Attention within blocks, then over a grid."""

    def __init__(self, c=16, size=4):
        super().__init__()
        self.size, self.stem = size, Inverted(c, c, 3, 1, nn.GELU, nn.Sigmoid())
        self.patch, self.block, self.grid = nn.Conv2d(3, c, 2, 2), Block(c, 2), Block(c, 2)

    def forward(self, image):
        x = self.stem(self.patch(image)).permute(0, 2, 3, 1)
        n, h, w, c = x.shape
        x = unwindows(self.block(windows(x, self.size)), self.size, h, w)
        s = self.size
        y = x.reshape(n, s, h // s, s, w // s, c).permute(0, 2, 4, 1, 3, 5).reshape(-1, s * s, c)
        y = self.grid(y).reshape(n, h // s, w // s, s, s, c).permute(0, 3, 1, 4, 2, 5).reshape(n, h, w, c)
        return y.amax((1, 2))


@model(IMAGE, {"N": 1}, by="dynamo", opset=18)
def maxvit():
    return MaxViT(), (torch.zeros(2, 3, 16, 32),)


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.body = nn.Conv2d(3, 16, 5, padding=2), nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.PReLU(16))
        self.last = nn.Conv2d(16, 27, 3, padding=1)

    def forward(self, image):
        x = F.leaky_relu(self.first(image), 0.1)
        up = F.interpolate(image, scale_factor=3, mode="bicubic", align_corners=False)
        return torch.clamp(F.pixel_shuffle(self.last(x + self.body(x)), 3) + up, 0, 1)


@model(OPEN, {"N": 1, "H": 19, "W": 14}, opset=13)
def superres():
    return SuperResolution(), (torch.zeros(1, 3, 16, 16),)


class Flow(nn.Module):
    """Correlation of two images' features over displacements, a flow, and the second image warped by it."""

    def __init__(self):
        super().__init__()
        self.features, self.head = conv(3, 8, 3, 2), nn.Sequential(conv(17, 16), nn.Conv2d(16, 2, 3, padding=1))

    def forward(self, image, other):
        a, b = self.features(image), self.features(other)
        h, w = a.shape[2:]
        padded = F.pad(b, (1, 1, 1, 1))
        cost = [(a * padded[:, :, y:y + h, x:x + w]).mean(1, keepdim=True) for y in range(3) for x in range(3)]
        flow = torch.tanh(self.head(torch.cat([*cost, a], 1)))
        y, x = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        grid = torch.stack([x, y], -1)[None] + flow.permute(0, 2, 3, 1) * 0.2
        return flow, F.grid_sample(b, grid, mode="bilinear", padding_mode="border", align_corners=True)


@model({"image": {0: "N"}, "other": {0: "N"}}, {"N": 2}, by="both", opset=18)
def flow():
    return Flow(), (torch.zeros(2, 3, 24, 32), torch.zeros(2, 3, 24, 32))


class CRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(conv(1, 8), nn.MaxPool2d(2), conv(8, 16), nn.MaxPool2d((2, 1)), conv(16, 16, (3)),
                                   nn.AvgPool2d((4, 1)))
        self.rnn, self.head = nn.LSTM(16, 12, bidirectional=True, num_layers=2), nn.Linear(24, 11)

    def forward(self, image):
        x = self.convs(image).squeeze(2).permute(2, 0, 1)
        scores = self.head(self.rnn(x)[0])
        best = scores.argmax(-1)
        keep = (best != 0) & (best != torch.cat([torch.zeros_like(best[:1]), best[:-1]], 0))
        return F.log_softmax(scores, -1), torch.where(keep, best, -1).transpose(0, 1)


@model({"image": {0: "N", 3: "W"}}, {"N": 2, "W": 50}, opset=14)
def crnn():
    return CRNN(), (torch.zeros(1, 1, 16, 32),)


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.embed, self.position = ViT(), nn.Embedding(64, 32), nn.Parameter(torch.zeros(12, 32))
        self.text, self.norm, self.project = Block(32, 4), nn.LayerNorm(32), nn.Linear(32, 10, bias=False)
        self.scale = nn.Parameter(torch.ones([]))
        self.register_buffer("mask", torch.full((12, 12), float("-inf")).triu(1))

    def forward(self, image, ids):
        a = self.image(image)
        x = self.norm(self.text(self.embed(ids) + self.position, self.mask))
        x = self.project(x[torch.arange(x.shape[0]), ids.argmax(-1)])
        a, x = a / a.norm(dim=-1, keepdim=True), x / x.norm(dim=-1, keepdim=True)
        return (self.scale.exp() * a @ x.t()).softmax(-1)


@model({"image": {0: "N"}, "ids": {0: "M", "high": 63}}, {"N": 2, "M": 3}, by="both", opset=18)
def clip():
    return Clip(), (torch.zeros(2, 3, 32, 32), torch.zeros(3, 12, dtype=torch.int64))
