#!/usr/bin/env python3
"""Random models of PyTorch's libraries: exports them, runs them with tpat on a GPU, and times them next to PyTorch.

    bench/libraries.py SEED [--count N] [--seconds S] [--jobs N] [--tpat build/tpat] [--keep FOLDER]

Draws N architectures of timm, torchvision and transformers by a seed, a quarter of them in f16, and exports each one in one of
PyTorch's two ways, with random weights and open batch size. The outputs of `tpat run --device cuda` are compared with ONNX
Runtime's. One line a model: nodes, kernels, microseconds of tpat and of PyTorch in eager mode, both as CUDA graphs, their ratio, and
the largest error relative to the output's largest value. The error may be 0.5 % (f16: 4 %), or four times what ONNX Runtime's own
optimisations change: random weights can make a model amplify rounding. Models that PyTorch cannot export or ONNX Runtime cannot
run, with more than 150 million parameters, or whose outputs overflow are not counted.

Transformers are built with at most two layers of each kind and a vocabulary of 1,000. f32 is without TF32. --keep: folder for
the models that fail, with their weights."""
import argparse
import concurrent.futures
import fcntl
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from report import geometric_mean  # noqa: E402

PARAMETERS = 150e6
SMALL = {"num_hidden_layers": 2, "encoder_layers": 2, "decoder_layers": 2, "num_layers": 2, "n_layer": 2, "vocab_size": 1000,
         "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


class Skip(Exception):
    """A model that is not counted, and why."""


# ---- The libraries: functions (name, random) -> (module, inputs).

def timm(name, _):
    import timm as library
    import torch
    net = library.create_model(name, pretrained=False)
    return net, (torch.rand(2, *net.default_cfg.get("input_size", (3, 224, 224))),)


def torchvision(name, _):
    import torch
    import torchvision as library
    make = library.models.get_model_builder(name)
    try:
        net = make(weights=None, weights_backbone=None)
    except TypeError:
        net = make(weights=None)
    if "detection" in make.__module__:
        return net, ([torch.rand(3, 320, 320)],)
    if "video" in make.__module__:
        return net, (torch.rand(1, 3, 16, 112, 112),)
    if "optical" in make.__module__:
        return net, (torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128))
    return net, (torch.rand(2, 3, 224, 224),)


def transformers(name, rnd):
    import torch
    from transformers import AutoModel, CONFIG_MAPPING
    config = CONFIG_MAPPING[name]()
    for key, value in SMALL.items():
        if hasattr(config, key):
            setattr(config, key, value)
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:2]
    config.use_cache = False
    try:
        base = AutoModel.from_config(config, attn_implementation=rnd.choice(("eager", "sdpa")))
    except ValueError:  # it has only the other one
        base = AutoModel.from_config(config)
    main = base.main_input_name
    side = getattr(config, "image_size", 224)
    side = side if isinstance(side, int) else side[0]
    made = {"pixel_values": lambda: torch.rand(1, getattr(config, "num_channels", 3), side, side),
            "input_ids": lambda: torch.randint(3, 900, (2, 17)),
            "input_values": lambda: torch.rand(1, 8000),
            "input_features": lambda: torch.rand(1, getattr(config, "num_mel_bins", 80), 3000)}
    if main not in made:
        raise Skip("its main input is " + main)

    class Net(torch.nn.Module):
        """The model as a function of its main input alone, whose outputs are tensors."""

        def __init__(self):
            super().__init__()
            self.base = base

        def forward(self, x):
            more = {}
            if getattr(config, "is_encoder_decoder", False):
                more["decoder_input_ids"] = x if main == "input_ids" else torch.ones(1, 5, dtype=torch.long)
            out = self.base(**{main: x}, **more)
            return tuple(t for t in out.to_tuple() if torch.is_tensor(t))

    return Net(), (made[main](),)


LIBRARIES = {"timm": timm, "torchvision": torchvision, "transformers": transformers}


def names_of(library):
    if library == "timm":
        import timm as source
        return source.list_models()
    if library == "torchvision":
        import torchvision as source
        return source.models.list_models()
    from transformers import CONFIG_MAPPING
    return sorted(CONFIG_MAPPING.keys())


# ---- One model, in a process of its own.

def tensors_in(values):
    return [t for v in values for t in (v if isinstance(v, list) else [v])]


def moved(values, how):
    return tuple([how(t) for t in v] if isinstance(v, list) else how(v) for v in values)


def export(net, inputs, path, rnd):
    """Writes the model in one of PyTorch's two ways; the batch size stays open where it is not 1, and so does a text's length."""
    import torch
    axes = [0, 1] if inputs[0] is not None and torch.is_tensor(inputs[0]) and inputs[0].dtype == torch.long else [0]
    is_open = torch.is_tensor(inputs[0]) and inputs[0].shape[0] > 1
    with torch.no_grad():
        if rnd.random() < 0.5:
            shapes = ({k: torch.export.Dim.DYNAMIC for k in axes}, *(None for _ in inputs[1:])) if is_open else None
            torch.onnx.export(net, inputs, path, dynamo=True, opset_version=rnd.choice((18, 20, 21, 23)), input_names=["x"],
                              dynamic_shapes=shapes, external_data=False, verbose=False)
        else:
            torch.onnx.export(net, inputs, path, dynamo=False, opset_version=rnd.choice((13, 14, 16, 17)), input_names=["x"],
                              dynamic_axes={"x": {k: f"N{k}" for k in axes}} if is_open else None)


def reference(path, values):
    """ONNX Runtime's inputs and outputs by name, and by how much its optimisations change each output."""
    import numpy
    import onnxruntime
    outputs = []
    for level in (onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level, options.graph_optimization_level = 2, 3, level
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        fed = {i.name: t.cpu().numpy() for i, t in zip(session.get_inputs(), values)}
        outputs.append(session.run(None, fed))
    wanted = dict(zip((o.name for o in session.get_outputs()), outputs[0]))
    if not all(numpy.isfinite(w).all() for w in wanted.values() if w.dtype.kind == "f"):
        raise Skip("its outputs overflow")
    return fed, wanted, [relative(a, b) for a, b in zip(*outputs)]


def relative(got, want):
    """The largest error, relative to the largest value; integers that differ count as their difference."""
    import numpy
    if got.shape != want.shape:
        return float("inf")
    if not want.size:
        return 0.0
    got, want = got.astype(numpy.float64), want.astype(numpy.float64)
    error = numpy.abs(got - want).max()
    return float(error / max(numpy.abs(want).max(), 1e-30)) if not numpy.isnan(error) else float("inf")


def one(o, library, name, folder):
    """Returns the row of this model."""
    warnings.filterwarnings("ignore")
    import numpy
    import onnx
    import torch
    from models_torch import graph_us
    rnd = random.Random(f"{o.seed} {name}")
    torch.set_num_threads(2)
    torch.manual_seed(rnd.randrange(1 << 30))
    net, inputs = LIBRARIES[library](name, rnd)
    net.eval()
    parameters = sum(p.numel() for p in net.parameters())
    if parameters > PARAMETERS:
        raise Skip(f"{parameters / 1e6:.0f} million parameters")
    half = rnd.random() < 0.25 and all(t.is_floating_point() for t in tensors_in(inputs))
    if half:
        net, inputs = net.cuda().half(), moved(inputs, lambda t: t.cuda().half())
    path = os.path.join(folder, "model.onnx")
    export(net, inputs, path, rnd)
    fed, wanted, noise = reference(path, tensors_in(inputs))
    command = [o.tpat, "run", path, "--device", "cuda", "-o", os.path.join(folder, "out.npz")]
    for k, (tensor, value) in enumerate(fed.items()):
        numpy.save(os.path.join(folder, f"{k}.npy"), value)
        command += ["-i", f"{tensor}={folder}/{k}.npy"]
    row = {"library": library, "name": name, "type": "f16" if half else "f32", "nodes": len(onnx.load(path).graph.node)}
    subprocess.run(command, capture_output=True, check=False, timeout=o.seconds)  # compiles the kernels
    with open(o.lock, "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(command + ["--time", "60", "--cuda-graph"], capture_output=True, text=True, check=False, timeout=o.seconds)
        if done.returncode:
            return {**row, "fault": done.stderr.strip().replace("\n", " ")}
        got = numpy.load(os.path.join(folder, "out.npz"))
        allowed = [max(0.04 if half else 0.005, 4 * n) for n in noise]
        errors = [relative(got[output], want) for output, want in wanted.items()]
        row["error"] = max(errors)
        if any(e > a for e, a in zip(errors, allowed)):
            return {**row, "fault": f"outputs differ by {errors} of their largest value; allowed: {allowed}"}
        row["launches"] = int(re.search(r"(\d+) launch", done.stdout).group(1))
        row["us"] = float(re.search(r"([\d.]+) us as one CUDA graph", done.stdout).group(1))
        torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark = False, True
        net, inputs = net.cuda(), moved(inputs, lambda t: t.cuda())
        try:
            with torch.no_grad():
                row["eager"] = graph_us(lambda: net(*inputs))
        except RuntimeError as error:  # models whose shapes depend on data wait for the GPU
            row["note"] = "PyTorch: " + str(error).splitlines()[0][:60]
    return row


def child(o, library, name):
    folder = tempfile.mkdtemp()
    try:
        row = one(o, library, name, folder)
    except Exception as error:  # noqa: BLE001 - PyTorch's errors have no common class
        row = {"library": library, "name": name, "skip": str(error).strip().replace("\n", " ")[:100] or type(error).__name__}
    if o.keep and "fault" in row:
        shutil.copytree(folder, os.path.join(o.keep, f"{library}_{name}"), dirs_exist_ok=True)
    shutil.rmtree(folder)
    print(json.dumps(row))


# ---- All of them.

def run(o, library, name, end):
    left = end - time.time()
    if left < 20:
        return None
    argv = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--one", library, name, "--lock", o.lock]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=left)
        return json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return None
    except (IndexError, ValueError):
        return {"library": library, "name": name, "skip": done.stderr.strip()[-100:].replace("\n", " ")}


def line_of(row):
    head = f"{row['library']:12} {row['name']:36}"
    if "skip" in row:
        return f"{head} not counted: {row['skip']}"
    if "fault" in row:
        return f"{head} FAIL: {row['fault'][:300]}"
    eager = f"{row['eager']:9.0f} {row['eager'] / row['us']:6.2f}" if "eager" in row else f"{'-':>9} {'-':>6}"
    return f"{head} {row['type']} {row['nodes']:5} {row['launches']:5} {row['us']:9.0f} {eager} {row['error']:8.1e} {row.get('note', '')}"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("seed")
    parser.add_argument("--count", type=int, default=48)
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--tpat", default="build/tpat")
    parser.add_argument("--keep", default="")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--lock", default="", help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.one:
        child(o, *o.one)
        return 0
    end = time.time() + o.seconds
    rnd, drawn = random.Random(o.seed), []
    for library in LIBRARIES:
        names = names_of(library)
        drawn += [(library, name) for name in rnd.sample(names, min(len(names), -(-o.count // len(LIBRARIES))))]
    rnd.shuffle(drawn)
    rows = []
    with tempfile.NamedTemporaryFile() as lock, concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        o.lock = lock.name
        print(f"{'library':12} {'model':36} type nodes kernels   tpat us  eager us  ratio    error")
        for done in concurrent.futures.as_completed([pool.submit(run, o, *d, end) for d in drawn[:o.count]]):
            row = done.result()
            if row:
                rows.append(row)
                print(line_of(row), flush=True)
    ratios = [r["eager"] / r["us"] for r in rows if "eager" in r]
    right, wrong = sum("us" in r for r in rows), sum("fault" in r for r in rows)
    print(f"{right} models right, {wrong} wrong, {sum('skip' in r for r in rows)} not counted, {o.count - len(rows)} not reached")
    if ratios:
        print(f"geometric mean over {len(ratios)}: {geometric_mean(ratios):.2f} x eager; the lowest {min(ratios):.2f}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
