"""The weights of the models of registry.py."""
import numpy
import torch

KEPT = {"mask", "bins", "rate", "rates", "anchors", "window"}  # buffers that are not weights


def fill(module, seed):
    """Weights of few different values, multiples of a power of two, so that the files compress well."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in [*module.named_parameters(), *module.named_buffers()]:
            if not p.is_floating_point() or (name.rsplit(".", 1)[-1] in KEPT and "running" not in name):
                continue
            drawn = torch.randint(-8, 9, p.shape, generator=generator) / 8
            if name.endswith("running_var"):
                p.copy_(1 + drawn.abs())
            elif "norm" in name and name.endswith("weight") or (p.dim() == 1 and name.endswith("weight")):
                p.copy_(1 + drawn / 4)
            elif p.dim() < 2:
                p.copy_(drawn / 4)
            else:
                fan = p[0].numel()
                p.copy_(drawn * 2.0 ** round(numpy.log2(1.5 / fan ** 0.5)))
    return module
