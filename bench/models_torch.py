"""PyTorch's times for the models of tests/zoo that have a source there; bench/models.py calls this.

A model is timed only if PyTorch gives the outputs that ONNX Runtime gave for the exported file: then both run the same weights.
Times are medians in microseconds, with inputs and outputs on the device. eager and compile: one call each, launched from Python.
The same as CUDA graphs, where PyTorch can record one. TF32 is off, as in tpat."""
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "zoo"))
from replay import replay_us  # noqa: E402
COLUMNS = ["model", "torch_check", "torch", "eager_us", "eager_graph_us", "compile_us", "compile_graph_us"]
CALLS = 50


def sources():
    """The registered models by name. Files of tests/zoo that this machine cannot import have none."""
    from registry import MODELS
    for name in ("vision", "detection", "language", "other", "sound"):
        try:
            __import__(name)
        except ImportError as error:
            print(f"{name}.py: {error}", file=sys.stderr)
    return MODELS


def source_of(name, models):
    """The name of the source of a model of the zoo, or None."""
    source = name.removesuffix("_dynamo")
    return source if source in models else None


def read_tensors(path):
    import onnx
    from onnx import numpy_helper
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}


def outputs_of(path):
    import onnx
    return [v.name for v in onnx.load(path, load_external_data=False).graph.output]


def flat(result):
    """The tensors of a module's result, in order."""
    import torch
    if isinstance(result, torch.Tensor):
        return [result]
    parts = result.values() if isinstance(result, dict) else result if isinstance(result, (list, tuple)) else []
    return [t for part in parts for t in flat(part)]


class Source:
    """A model's module with the weights of the zoo, and its inputs, on a device."""

    def __init__(self, name, m, tensors, device):
        import torch
        from weights import fill
        module, inputs = m.make()
        self.module = fill(module, len(name)).eval().to(device)
        values = [tensors.get(i) for i in m.inputs]
        self.inputs = [torch.from_numpy(v.copy()).to(device) if v is not None else x.to(device) for v, x in zip(values, inputs)]
        self.device = device

    def __call__(self, fn=None):
        import torch
        with torch.device(self.device), torch.no_grad():
            return (self.module if fn is None else fn)(*self.inputs)

    def compiled(self):
        import torch
        torch._dynamo.reset()
        return torch.compile(self.module, dynamic=False)


def median_us(call, synchronize):
    times = []
    for i in range(CALLS + 3):
        synchronize()
        start = time.perf_counter()
        call()
        synchronize()
        if i >= 3:
            times.append(1e6 * (time.perf_counter() - start))
    return statistics.median(times)


def graph_us(call):
    """The time of one replay of a recorded CUDA graph."""
    import torch
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        keep = call()  # the results' memory belongs to the graph
    times = replay_us(torch, graph, stream, CALLS)
    del keep
    return statistics.median(times)


def check(source, want, tolerance):
    """Returns how PyTorch's outputs differ from the wanted ones as text, or None."""
    from whole import differs
    got = [t.cpu().numpy() for t in flat(source())]
    if len(got) < len(want):
        return f"{len(got)} outputs, want {len(want)}"
    for k, (g, w) in enumerate(zip(got, want)):
        if w.dtype.kind in "iub":  # exporters write other integer types
            g = g.astype(w.dtype)
        fault = differs(g, w, *(tolerance if w.dtype.kind == "f" else (0, 0, tolerance[2])))
        if fault:
            return f"output {k} {fault}"
    return None


def timed(row, key, call, cuda):
    """Adds a call's times to the row; what cannot run leaves its reason on standard error."""
    import torch
    try:
        row[f"{key}_us"] = f"{median_us(call, torch.cuda.synchronize if cuda else lambda: None):.1f}"
        if cuda:
            row[f"{key}_graph_us"] = f"{graph_us(call):.1f}"
    except Exception as error:  # noqa: BLE001 - PyTorch's errors have no common class
        if cuda:
            torch.cuda.synchronize()
        print(f"{row['model']}: {key}: {str(error).splitlines()[0] if str(error) else type(error).__name__}", file=sys.stderr)


def prepare(folder, name, models, device):
    own = os.path.join(folder, name)
    tensors = read_tensors(os.path.join(own, "tensors_0.onnx"))
    source = source_of(name, models)
    wanted = [tensors[o] for o in outputs_of(os.path.join(own, "model.onnx"))]
    return Source(source, models[source], tensors, device), wanted


def quiet():
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True


def compile_part(options, names, models):
    """Fills PyTorch's cache of compiled kernels with every n-th model."""
    part, count = map(int, options.part.split("/"))
    for name, _ in names[part::count]:
        try:
            source, _ = prepare(options.folder, name, models, options.device)
            source(source.compiled())
        except Exception:  # noqa: BLE001 - the measurement reports it
            pass


def compile_all(argv, jobs):
    parts = [subprocess.Popen([sys.executable, *argv, "--part", f"{k}/{jobs}"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env={**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"})
             for k in range(jobs)]
    for part in parts:
        part.wait()


def measure(options, names, write):
    """Times all models that have a source, and calls write(rows) after each."""
    import torch
    quiet()
    models = sources()
    names = [(name, tolerance) for name, tolerance in names if source_of(name, models)]
    if options.part:
        compile_part(options, names, models)
        return 0
    end = time.monotonic() + options.seconds
    cuda = options.device == "cuda"
    if options.jobs > 1 and not options.eager:
        compile_all(sys.argv, options.jobs)
    rows, wrong = {}, 0
    for name, tolerance in names:
        if time.monotonic() > end:
            print(f"{name}: left out, {options.seconds:.0f} s are over", file=sys.stderr)
            continue
        row = rows[name] = {"model": name, "torch": torch.__version__}
        try:
            source, wanted = prepare(options.folder, name, models, options.device)
            row["torch_check"] = check(source, wanted, tolerance) or "ok"
        except Exception as error:  # noqa: BLE001 - as above
            row["torch_check"] = (str(error) or type(error).__name__).splitlines()[0]
        if row["torch_check"] == "ok":
            timed(row, "eager", source, cuda)
            if not options.eager:
                compiled = source.compiled()  # it compiles when it is called
                timed(row, "compile", lambda: source(compiled), cuda)
        wrong += row["torch_check"] != "ok"
        print(*row.values(), flush=True)
        write(rows)
    print(f"{len(rows) - wrong} passed, {wrong} failed")
    return wrong > 0
