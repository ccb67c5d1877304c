"""Speech and sound: fronts, encoders, recognition, synthesis."""
import torch
from torch import nn
from torch.nn import functional as F

from registry import model
from vision import Block


class Mel(nn.Module):
    """Frames, their spectra as products with windowed waves, a filter bank, a logarithm."""

    def __init__(self, size=32, hop=8, bands=10):
        super().__init__()
        self.size, self.hop = size, hop
        self.register_buffer("window", torch.hann_window(size))
        self.bank = nn.Parameter(torch.zeros(bands, size // 2 + 1))

    def forward(self, sound):
        spectrum = torch.stft(sound, self.size, self.hop, window=self.window, center=False, return_complex=False)
        power = spectrum.pow(2).sum(-1)
        mel = torch.log10(torch.clamp(torch.relu(self.bank) @ power, min=1e-6))
        return (torch.maximum(mel, mel.amax((1, 2), keepdim=True) - 8.0) + 4.0) / 4.0


@model({"sound": {0: "N"}}, {"N": 2}, opset=17)
def mel_front():
    return Mel(), (torch.zeros(2, 160),)


class Decoder(nn.Module):
    def __init__(self, c, heads):
        super().__init__()
        self.heads, self.norm = heads, nn.ModuleList([nn.LayerNorm(c) for _ in range(3)])
        self.own, self.cross = (nn.ModuleList([nn.Linear(c, c) for _ in range(4)]) for _ in range(2))
        self.mlp = nn.Sequential(nn.Linear(c, 2 * c), nn.GELU(), nn.Linear(2 * c, c))

    def attend(self, parts, x, memory, mask=None):
        n, t, c = x.shape
        q, k, v = (f(y).view(n, -1, self.heads, c // self.heads).permute(0, 2, 1, 3) for f, y in zip(parts, (x, memory, memory)))
        scale = (c // self.heads) ** -0.25
        a = (q * scale) @ (k * scale).transpose(-1, -2)
        if mask is not None:
            a = a + mask[:t, :t]
        return parts[3]((a.softmax(-1) @ v).permute(0, 2, 1, 3).flatten(2))

    def forward(self, x, memory, mask):
        y = self.norm[0](x)
        x = x + self.attend(self.own, y, y, mask)
        x = x + self.attend(self.cross, self.norm[1](x), memory)
        return x + self.mlp(self.norm[2](x))


class Whisper(nn.Module):
    def __init__(self, bands=10, c=24):
        super().__init__()
        self.first, self.second = nn.Conv1d(bands, c, 3, padding=1), nn.Conv1d(c, c, 3, 2, 1)
        self.register_buffer("wave", torch.zeros(20, c))
        self.block, self.norm, self.norm2 = Block(c, 4), nn.LayerNorm(c), nn.LayerNorm(c)
        self.word, self.position, self.decoder = nn.Embedding(40, c), nn.Parameter(torch.zeros(16, c)), Decoder(c, 4)
        self.register_buffer("mask", torch.full((16, 16), float("-inf")).triu(1))

    def forward(self, mel, ids):
        x = F.gelu(self.second(F.gelu(self.first(mel)))).permute(0, 2, 1)
        memory = self.norm(self.block(x + self.wave[:x.shape[1]]))
        y = self.decoder(self.word(ids) + self.position[:ids.shape[1]], memory, self.mask)
        return memory, self.norm2(y) @ self.word.weight.t()


@model({"mel": {0: "N"}, "ids": {0: "N", 1: "T", "high": 39}}, {"N": 2, "T": 5}, by="both", opset=18)
def whisper():
    return Whisper(), (torch.zeros(2, 10, 32), torch.zeros(2, 4, dtype=torch.int64))


class Conformer(nn.Module):
    def __init__(self, c=24, heads=4):
        super().__init__()
        self.sub = nn.Sequential(nn.Conv2d(1, 6, 3, 2), nn.ReLU(), nn.Conv2d(6, 6, 3, 2), nn.ReLU())
        self.inner, self.heads = nn.Linear(12, c), heads
        half = [nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 2 * c), nn.SiLU(), nn.Linear(2 * c, c)) for _ in range(2)]
        self.halves, self.norm = nn.ModuleList(half), nn.ModuleList([nn.LayerNorm(c) for _ in range(3)])
        self.q, self.k, self.v, self.o, self.p = (nn.Linear(c, c) for _ in range(5))
        self.u, self.w = nn.Parameter(torch.zeros(heads, c // heads)), nn.Parameter(torch.zeros(heads, c // heads))
        self.place = nn.Parameter(torch.zeros(63, c))
        self.wide, self.depth, self.batch, self.narrow = (nn.Conv1d(c, 2 * c, 1), nn.Conv1d(c, c, 7, padding=3, groups=c),
                                                          nn.BatchNorm1d(c), nn.Conv1d(c, c, 1))
        self.head = nn.Linear(c, 12)

    def attend(self, x):
        n, t, c = x.shape
        q, k, v = (f(x).view(n, t, self.heads, -1) for f in (self.q, self.k, self.v))
        place = self.p(self.place[32 - t:31 + t]).view(2 * t - 1, self.heads, -1)
        near = torch.einsum("nihd,jhd->nhij", q + self.w, place)
        near = F.pad(near, (1, 0)).view(n, self.heads, 2 * t, t)[:, :, 1:].view(n, self.heads, t, 2 * t - 1)[..., :t]
        a = (torch.einsum("nihd,njhd->nhij", q + self.u, k) + near) * (c // self.heads) ** -0.5
        return self.o(torch.einsum("nhij,njhd->nihd", a.softmax(-1), v).reshape(n, t, c))

    def forward(self, mel):
        x = self.sub(mel.unsqueeze(1))
        x = self.inner(x.transpose(1, 2).flatten(2))
        x = x + 0.5 * self.halves[0](x)
        x = x + self.attend(self.norm[0](x))
        y = F.glu(self.wide(self.norm[1](x).transpose(1, 2)), 1)
        x = x + self.narrow(F.silu(self.batch(self.depth(y)))).transpose(1, 2)
        x = self.norm[2](x + 0.5 * self.halves[1](x))
        return F.log_softmax(self.head(x), -1)


@model({"mel": {0: "N", 1: "T"}}, {"N": 2, "T": 43}, opset=17)
def conformer():
    return Conformer(), (torch.zeros(2, 40, 12),)


class Wav2vec(nn.Module):
    def __init__(self, c=24):
        super().__init__()
        self.first, self.norm = nn.Conv1d(1, 12, 10, 5, bias=False), nn.GroupNorm(12, 12)
        self.second, self.third = nn.Conv1d(12, 12, 3, 2, bias=False), nn.Conv1d(12, 12, 2, 2, bias=False)
        self.inner, self.project = nn.LayerNorm(12), nn.Linear(12, c)
        self.place, self.block, self.head = nn.Conv1d(c, c, 8, padding=4, groups=4), Block(c, 4), nn.Linear(c, 11)

    def forward(self, sound):
        sound = (sound - sound.mean(-1, keepdim=True)) / torch.sqrt(sound.var(-1, keepdim=True, unbiased=False) + 1e-7)
        x = F.gelu(self.norm(self.first(sound.unsqueeze(1))))
        x = F.gelu(self.third(F.gelu(self.second(x)))).transpose(1, 2)
        x = self.project(self.inner(x))
        x = x + F.gelu(self.place(x.transpose(1, 2))[:, :, :-1]).transpose(1, 2)
        scores = F.log_softmax(self.head(self.block(x)), -1)
        return scores, scores.argmax(-1)


@model({"sound": {0: "N", 1: "T"}}, {"N": 2, "T": 210}, by="both", opset=18)
def wav2vec():
    return Wav2vec(), (torch.zeros(2, 200),)


class Sequence(nn.Module):
    """Bidirectional recurrences over rows of different lengths."""

    def __init__(self):
        super().__init__()
        self.gru, self.lstm = nn.GRU(6, 8, bidirectional=True, batch_first=True), nn.LSTM(16, 8, batch_first=True)
        self.score, self.head = nn.Linear(8, 1), nn.Linear(8, 4)

    def forward(self, x, mask):
        y = self.lstm(self.gru(x)[0])[0]
        weight = self.score(y).squeeze(-1).masked_fill(mask == 0, float("-inf")).softmax(-1)
        return self.head((weight.unsqueeze(1) @ y).squeeze(1)), weight


@model({"x": {0: "N", 1: "T"}, "mask": {0: "N", 1: "T", "low": 1, "high": 1}}, {"N": 2, "T": 6}, opset=14)
def recurrent():
    return Sequence(), (torch.zeros(2, 5, 6), torch.ones(2, 5, dtype=torch.int64))


class Coupling(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.inner = nn.Conv1d(c // 2, c, 1)
        self.filter = nn.ModuleList([nn.Conv1d(c, 2 * c, 3, padding=d, dilation=d) for d in (1, 2)])
        self.rest, self.outer = nn.ModuleList([nn.Conv1d(c, 2 * c, 1) for _ in range(2)]), nn.Conv1d(c, c, 1)

    def forward(self, x, mask):
        a, b = x.chunk(2, 1)
        h, total = self.inner(a) * mask, 0
        for conv, rest in zip(self.filter, self.rest):
            left, right = conv(h).chunk(2, 1)
            skip = rest(torch.tanh(left) * torch.sigmoid(right))
            more, add = skip.chunk(2, 1)
            h, total = (h + more) * mask, total + add
        mean, log = (self.outer(total) * mask).chunk(2, 1)
        return torch.cat([a, (b - mean) * torch.exp(-log) * mask], 1).flip(1)


class Speak(nn.Module):
    """VITS without its noise: durations, lengthened text, a flow, and a decoder that upsamples."""

    def __init__(self, c=16):
        super().__init__()
        self.word, self.block, self.length = nn.Embedding(30, c), Block(c, 2), nn.Conv1d(c, 1, 3, padding=1)
        self.flow, self.first = nn.ModuleList([Coupling(c), Coupling(c)]), nn.Conv1d(c, c, 7, padding=3)
        self.up, self.rest = nn.ConvTranspose1d(c, 8, 8, 4, 2), nn.Conv1d(8, 8, 3, padding=3, dilation=3)
        self.last = nn.Conv1d(8, 1, 7, padding=3)

    def forward(self, ids, lengths):
        mask = (torch.arange(ids.shape[1])[None] < lengths[:, None]).float().unsqueeze(1)
        x = self.block(self.word(ids)).transpose(1, 2) * mask
        long = torch.ceil(torch.exp(self.length(x).clamp(-1, 1)) * mask)
        ends = torch.cumsum(long.squeeze(1), -1)
        total = ends[:, -1].long()
        frames = torch.arange(24)[None, :, None]
        path = ((frames < ends[:, None]) & (frames >= (ends - long.squeeze(1))[:, None])).float()
        y = (path @ x.transpose(1, 2)).transpose(1, 2)
        inside = (torch.arange(24)[None] < total[:, None]).float().unsqueeze(1)
        for layer in self.flow:
            y = layer(y, inside)
        y = self.up(F.leaky_relu(self.first(y * inside), 0.1))
        y = y + self.rest(F.leaky_relu(y, 0.1))
        return torch.tanh(self.last(F.leaky_relu(y)))


@model({"ids": {0: "N", 1: "T", "high": 29}, "lengths": {0: "N", "low": 3, "high": 6}}, {"N": 2, "T": 7}, by="both", opset=18)
def vits():
    return Speak(), (torch.zeros(2, 6, dtype=torch.int64), torch.tensor([4, 6]))


class Wavenet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.first = nn.Conv1d(1, c, 1)
        self.gates = nn.ModuleList([nn.Conv1d(c, 2 * c, 2, dilation=2 ** i) for i in range(3)])
        self.skips, self.head = nn.ModuleList([nn.Conv1d(c, c, 1) for _ in range(3)]), nn.Conv1d(c, 8, 1)

    def forward(self, sound):
        x, total = self.first(sound.unsqueeze(1)), 0
        for i, (gate, skip) in enumerate(zip(self.gates, self.skips)):
            a, b = gate(F.pad(x, (2 ** i, 0))).chunk(2, 1)
            y = skip(torch.tanh(a) * torch.sigmoid(b))
            x, total = x + y, total + y
        return self.head(F.relu(total)).softmax(1)


@model({"sound": {0: "N", 1: "T"}}, {"N": 2, "T": 37}, by="dynamo", opset=18)
def wavenet():
    return Wavenet(), (torch.zeros(2, 32),)
