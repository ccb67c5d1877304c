"""Detection: boxes, proposals, suppression; clouds of points; volumes and videos."""
import torch
import torchvision
from torch import nn
from torch.nn import functional as F

from registry import model
from vision import Block, conv

IMAGE = {"image": {0: "N"}}
OPEN = {"image": {0: "N", 2: "H", 3: "W"}}


class CSP(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.first, self.body = conv(a, b, 1, act=nn.SiLU), conv(b // 2, b // 2, 3, act=nn.SiLU)
        self.last = conv(b + b // 2, b, 1, act=nn.SiLU)

    def forward(self, x):
        y = list(self.first(x).chunk(2, 1))
        return self.last(torch.cat([*y, y[1] + self.body(y[1])], 1))


class Yolo(nn.Module):
    """Backbone, SPPF, a neck with top-down and bottom-up paths, distributions of box sides over three levels."""
    BINS, CLASSES = 4, 3

    def __init__(self, classic=False):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 3, 2, act=nn.SiLU), conv(8, 8, 3, 2, act=nn.SiLU))
        self.down = nn.ModuleList([nn.Sequential(conv(8 + 8 * (i > 0), 16, 3, 2, act=nn.SiLU), CSP(16, 16)) for i in range(3)])
        self.pool, self.spread = nn.MaxPool2d(5, 1, 2), conv(64, 16, 1, act=nn.SiLU)
        self.up = nn.ModuleList([CSP(32, 16), CSP(32, 16)])
        self.lower, self.again = nn.ModuleList([conv(16, 16, 3, 2, act=nn.SiLU) for _ in range(2)]), nn.ModuleList(
            [CSP(32, 16), CSP(32, 16)])
        self.box = nn.ModuleList([nn.Conv2d(16, 4 * self.BINS, 1) for _ in range(3)])
        self.kind = nn.ModuleList([nn.Conv2d(16, self.CLASSES, 1) for _ in range(3)])
        self.register_buffer("bins", torch.arange(self.BINS, dtype=torch.float32)[None, :, None, None])
        self.classic = classic

    def levels(self, image):
        x, found = self.stem(image), []
        for down in self.down:
            x = down(x)
            found.append(x)
        a = self.pool(x)
        b = self.pool(a)
        top = self.spread(torch.cat([x, a, b, self.pool(b)], 1))
        middle = self.up[0](torch.cat([F.interpolate(top, scale_factor=2.0), found[1]], 1))
        low = self.up[1](torch.cat([F.interpolate(middle, scale_factor=2.0), found[0]], 1))
        middle = self.again[0](torch.cat([self.lower[0](low), middle], 1))
        return [low, middle, self.again[1](torch.cat([self.lower[1](middle), top], 1))]

    def forward(self, image):
        boxes, kinds, points, strides = [], [], [], []
        for i, x in enumerate(self.levels(image)):
            h, w = x.shape[2:]
            boxes.append(self.box[i](x).flatten(2))
            kinds.append(self.kind[i](x).flatten(2))
            y, x = torch.meshgrid(torch.arange(h, dtype=torch.float32) + 0.5, torch.arange(w, dtype=torch.float32) + 0.5,
                                  indexing="ij")
            points.append(torch.stack([x, y], 0).flatten(1))
            strides.append(torch.full((1, h * w), 8.0 * 2 ** i))
        box, kind = torch.cat(boxes, 2), torch.cat(kinds, 2).sigmoid()
        n, _, a = box.shape
        sides = (box.view(n, 4, self.BINS, a).transpose(1, 2).softmax(1) * self.bins).sum(1)
        point, stride = torch.cat(points, 1)[None], torch.cat(strides, 1)
        first, last = point - sides[:, :2], point + sides[:, 2:]
        return torch.cat([(first + last) / 2 * stride, (last - first) * stride, kind], 1)


@model(OPEN, {"N": 1, "H": 64, "W": 96}, opset=17)
def yolo_open():
    return Yolo(), (torch.zeros(1, 3, 64, 64),)


@model(IMAGE, {"N": 2}, by="dynamo", opset=18)
def yolo():
    return Yolo(), (torch.zeros(2, 3, 64, 64),)


class Across(nn.Module):
    """Attention of queries to a memory, as DETR's decoder has it."""

    def __init__(self, c, heads):
        super().__init__()
        self.self_attention = nn.MultiheadAttention(c, heads, batch_first=True)
        self.across = nn.MultiheadAttention(c, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(c, 2 * c), nn.ReLU(), nn.Linear(2 * c, c))
        self.norm = nn.ModuleList([nn.LayerNorm(c) for _ in range(3)])

    def forward(self, x, memory, query, place):
        x = self.norm[0](x + self.self_attention(x + query, x + query, x, need_weights=False)[0])
        x = self.norm[1](x + self.across(x + query, memory + place, memory, need_weights=False)[0])
        return self.norm[2](x + self.mlp(x))


class Detr(nn.Module):
    def __init__(self, c=16, queries=5):
        super().__init__()
        self.stem, self.encoder = nn.Sequential(conv(3, 8, 3, 2), conv(8, c, 3, 2), conv(c, c, 3, 2)), Block(c, 2)
        self.query, self.decoder = nn.Parameter(torch.zeros(queries, c)), nn.ModuleList([Across(c, 2), Across(c, 2)])
        self.rows, self.columns = nn.Parameter(torch.zeros(20, c // 2)), nn.Parameter(torch.zeros(20, c // 2))
        self.kind, self.box = nn.Linear(c, 4), nn.Sequential(nn.Linear(c, c), nn.ReLU(), nn.Linear(c, 4))

    def forward(self, image):
        x = self.stem(image)
        n, c, h, w = x.shape
        place = torch.cat([self.columns[:w].unsqueeze(0).repeat(h, 1, 1), self.rows[:h].unsqueeze(1).repeat(1, w, 1)], -1)
        place = place.flatten(0, 1)[None]
        memory = self.encoder(x.flatten(2).transpose(1, 2) + place)
        y, query = torch.zeros(n, self.query.shape[0], c), self.query[None]
        for layer in self.decoder:
            y = layer(y, memory, query, place)
        return self.kind(y), self.box(y).sigmoid()


@model(IMAGE, {"N": 2}, by="both", opset=18)
def detr():
    return Detr(), (torch.zeros(2, 3, 40, 32),)


class RTDetr(nn.Module):
    """The best positions become queries, which sample two levels at their own positions."""

    def __init__(self, c=16, heads=2, points=2, queries=6):
        super().__init__()
        self.stem, self.down = nn.Sequential(conv(3, 8, 3, 2), conv(8, c, 3, 2)), conv(c, c, 3, 2)
        self.score, self.anchor, self.heads, self.points, self.queries = nn.Linear(c, 3), nn.Linear(c, 4), heads, points, queries
        self.value, self.offset = nn.Linear(c, c), nn.Linear(c, heads * 2 * points * 2)
        self.weight, self.out, self.norm = nn.Linear(c, heads * 2 * points), nn.Linear(c, c), nn.LayerNorm(c)
        self.kind, self.box = nn.Linear(c, 3), nn.Linear(c, 4)

    def forward(self, image):
        a = self.stem(image)
        maps = [a, self.down(a)]
        memory = torch.cat([x.flatten(2).transpose(1, 2) for x in maps], 1)
        n, _, c = memory.shape
        best = self.score(memory).max(-1)[0].topk(self.queries, 1)[1]
        x = memory.gather(1, best.unsqueeze(-1).repeat(1, 1, c))
        anchor = self.anchor(memory).gather(1, best.unsqueeze(-1).repeat(1, 1, 4)).sigmoid()
        h, p, q = self.heads, self.points, self.queries
        wide = anchor[:, :, None, None, None]
        place = wide[..., :2] + self.offset(x).view(n, q, h, 2, p, 2) * 0.1 * wide[..., 2:]
        weight = self.weight(x).view(n, q, h, 2 * p).softmax(-1)
        sampled = []
        for level, value in enumerate(self.value(m.flatten(2).transpose(1, 2)).transpose(1, 2) for m in maps):
            height, width = maps[level].shape[2:]
            plane = value.reshape(n * h, c // h, height, width)
            grid = (2 * place[:, :, :, level] - 1).transpose(1, 2).flatten(0, 1)
            sampled.append(F.grid_sample(plane, grid, mode="bilinear", padding_mode="zeros", align_corners=False))
        taken = torch.stack(sampled, -2).flatten(-2) * weight.transpose(1, 2).reshape(n * h, 1, q, 2 * p)
        x = self.norm(x + self.out(taken.sum(-1).view(n, c, q).transpose(1, 2)))
        logit = torch.log(anchor.clamp(1e-5, 1) / (1 - anchor).clamp(1e-5, 1))
        return self.kind(x), (self.box(x) + logit).sigmoid()


@model(IMAGE, {"N": 2}, opset=18)
def rtdetr():
    return RTDetr(), (torch.zeros(2, 3, 32, 40),)


class MaskHead(nn.Module):
    """A pyramid, RoiAlign of given boxes, and heads for classes, boxes and masks."""

    def __init__(self):
        super().__init__()
        self.low, self.high = nn.Sequential(conv(3, 8, 3, 2), conv(8, 16, 3, 2)), conv(16, 16, 3, 2)
        self.side, self.top, self.smooth = nn.Conv2d(16, 12, 1), nn.Conv2d(16, 12, 1), nn.Conv2d(12, 12, 3, padding=1)
        self.kind, self.box = nn.Linear(12 * 9, 4), nn.Linear(12 * 9, 16)
        self.mask = nn.Sequential(conv(12, 12), nn.ConvTranspose2d(12, 8, 2, 2), nn.ReLU(), nn.Conv2d(8, 4, 1))

    def forward(self, image, boxes):
        a = self.low(image)
        b = self.high(a)
        top = self.top(b)
        x = self.smooth(self.side(a) + F.interpolate(top, size=a.shape[-2:], mode="nearest"))
        rois = torchvision.ops.roi_align(x, [boxes], (3, 3), 0.25, 2, True)
        shapes = torchvision.ops.roi_align(x, [boxes], (4, 4), 0.25, 2, True)
        return self.kind(rois.flatten(1)).softmax(-1), self.box(rois.flatten(1)), self.mask(shapes).sigmoid()


@model({"image": {2: "H", 3: "W"}, "boxes": {0: "R", "boxes": 40}}, {"R": 5, "H": 40, "W": 48}, opset=16)
def mask_rcnn():
    return MaskHead(), (torch.zeros(1, 3, 32, 32), torch.tensor([[2.0, 3, 20, 24]] * 3))


class SSD(nn.Module):
    """Anchors, decoded boxes and suppression for each class."""

    def __init__(self):
        super().__init__()
        self.stem, self.down = nn.Sequential(conv(3, 8, 3, 2), conv(8, 16, 3, 2)), conv(16, 16, 3, 2)
        self.box, self.kind = nn.Conv2d(16, 8, 3, padding=1), nn.Conv2d(16, 6, 3, padding=1)
        at = [torch.stack([((torch.arange(n) + 0.5) / n).repeat(n), ((torch.arange(n) + 0.5) / n).repeat_interleave(n),
                           torch.full((n * n,), s), torch.full((n * n,), 1.5 * s)], -1) for n, s in ((8, 0.2), (4, 0.4))]
        self.register_buffer("anchors", torch.cat([a.repeat_interleave(2, 0) for a in at]))

    def forward(self, image):
        maps = [self.stem(image)]
        maps.append(self.down(maps[0]))
        box = torch.cat([self.box(x).permute(0, 2, 3, 1).reshape(-1, 4) for x in maps])
        score = torch.cat([self.kind(x).permute(0, 2, 3, 1).reshape(-1, 3) for x in maps]).softmax(-1)
        centre = self.anchors[:, :2] + 0.1 * box[:, :2] * self.anchors[:, 2:]
        size = self.anchors[:, 2:] * torch.exp(0.2 * box[:, 2:])
        boxes = torch.cat([centre - size / 2, centre + size / 2], -1)
        best, kind = score[:, 1:].max(-1)
        keep = torchvision.ops.nms(boxes + kind[:, None].float() * 2, best, 0.5)[:10]
        return boxes[keep], best[keep], kind[keep]


@model({"image": {}}, opset=16)
def ssd():
    return SSD(), (torch.zeros(1, 3, 32, 32),)


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.turn = nn.Sequential(nn.Conv1d(3, 16, 1), nn.ReLU())
        self.matrix, self.body = nn.Linear(16, 9), nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU())
        self.deep, self.kind = nn.Conv1d(16, 32, 1), nn.Linear(32, 6)
        self.part = nn.Conv1d(48, 4, 1)

    def forward(self, points):
        turn = self.matrix(self.turn(points).max(2)[0]).view(-1, 3, 3) + torch.eye(3)
        local = self.body(torch.bmm(points.transpose(1, 2), turn).transpose(1, 2))
        whole = self.deep(local).max(2)[0]
        both = torch.cat([local, whole.unsqueeze(2).expand(-1, -1, local.shape[2])], 1)
        return self.kind(whole), self.part(both).softmax(1)


@model({"points": {0: "N", 2: "P"}}, {"N": 2, "P": 37}, by="both", opset=18)
def pointnet():
    return PointNet(), (torch.zeros(2, 3, 24),)


class SetAbstraction(nn.Module):
    """PointNet++: centres, the nearest neighbours of each, and the maximum of their features."""

    def __init__(self):
        super().__init__()
        self.mlp, self.head = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16)), nn.Linear(16, 5)

    def forward(self, points):
        centres = points[:, ::4]
        near = torch.cdist(centres, points).topk(4, -1, largest=False)[1]
        n, s, k = near.shape
        group = points.gather(1, near.reshape(n, s * k, 1).expand(-1, -1, 3)).reshape(n, s, k, 3)
        x = torch.cat([group - centres.unsqueeze(2), group], -1)
        return self.head(self.mlp(x).max(2)[0])


@model({"points": {0: "N"}}, {"N": 2}, opset=17)
def pointnet2():
    return SetAbstraction(), (torch.rand(1, 32, 3),)


class PointPillars(nn.Module):
    """Features of pillars, scattered to a canvas; a backbone and a head of boxes over it."""

    def __init__(self):
        super().__init__()
        self.feature, self.norm = nn.Linear(5, 12, bias=False), nn.BatchNorm1d(12)
        self.body, self.up = conv(12, 16, 3, 2), nn.ConvTranspose2d(16, 8, 2, 2)
        self.head = nn.Conv2d(20, 7, 1)

    def forward(self, pillars, places):
        mean = pillars[..., :3].mean(1, keepdim=True)
        x = torch.cat([pillars[..., :3] - mean, pillars[..., 3:]], -1)
        x = F.relu(self.norm(self.feature(x).transpose(1, 2)).transpose(1, 2)).max(1)[0]
        canvas = torch.zeros(12, 16 * 16)
        at = places[:, 0] * 16 + places[:, 1]
        canvas = canvas.index_copy(1, at, x.t()).view(1, 12, 16, 16)
        y = torch.cat([canvas, self.up(self.body(canvas))], 1)
        return self.head(y).permute(0, 2, 3, 1)


@model({"pillars": {0: "P"}, "places": {0: "P", "places": 16}}, {"P": 9}, opset=16)
def pointpillars():
    return PointPillars(), (torch.zeros(7, 4, 5), torch.arange(14).view(7, 2))


class UNet3d(nn.Module):
    def __init__(self):
        super().__init__()
        def block(a, b):
            return nn.Sequential(nn.Conv3d(a, b, 3, padding=1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01))
        self.first, self.second, self.up = block(1, 6), block(6, 12), nn.ConvTranspose3d(12, 6, 2, 2)
        self.last, self.head = block(12, 6), nn.Conv3d(6, 2, 1)

    def forward(self, volume):
        a = self.first(volume)
        b = self.second(F.max_pool3d(a, 2))
        big = F.interpolate(b, scale_factor=2.0, mode="trilinear", align_corners=False)
        return self.head(self.last(torch.cat([a, self.up(b)], 1))), big


@model({"volume": {0: "N", 2: "D"}}, {"N": 1, "D": 6}, opset=16)
def unet3d():
    return UNet3d(), (torch.zeros(1, 1, 4, 8, 8),)


@model({"video": {0: "N", 2: "T"}}, {"N": 1, "T": 5}, by="both", opset=18)
def video():
    def block(a, b, stride):
        return nn.Sequential(nn.Conv3d(a, b, (1, 3, 3), (1, stride, stride), (0, 1, 1), bias=False), nn.BatchNorm3d(b), nn.ReLU(),
                             nn.Conv3d(b, b, (3, 1, 1), padding=(1, 0, 0), bias=False), nn.BatchNorm3d(b), nn.ReLU())
    return nn.Sequential(block(3, 8, 2), block(8, 12, 2), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(12, 5)), (
        torch.zeros(1, 3, 4, 16, 16),)


class Deformable(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.offset, self.mask = conv(3, 8, 3, 2), nn.Conv2d(8, 18, 3, padding=1), nn.Conv2d(8, 9, 3, padding=1)
        self.conv = torchvision.ops.DeformConv2d(8, 12, 3, padding=1)

    def forward(self, image):
        x = self.stem(image)
        return F.relu(self.conv(x, self.offset(x), self.mask(x).sigmoid()))


def deform_conv(g, x, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups,
                offsets, use_mask):
    def number(value):
        return value.node().t("value").item() if value.node().kind() == "onnx::Constant" else value.node().i("value")
    pads, (height, width) = [number(pad_h), number(pad_w)], weight.type().sizes()[2:]
    return g.op("DeformConv", x, weight, offset, bias, mask, kernel_shape_i=[height, width], pads_i=pads * 2,
                strides_i=[number(stride_h), number(stride_w)], dilations_i=[number(dilation_h), number(dilation_w)],
                group_i=number(groups), offset_group_i=number(offsets))


torch.onnx.register_custom_op_symbolic("torchvision::deform_conv2d", deform_conv, 19)


@model(IMAGE, {"N": 2}, opset=19)
def deformable():
    return Deformable(), (torch.zeros(1, 3, 16, 24),)
