"""Times of the zoo's models in ONNX Runtime with tpat as its execution provider; bench/models.py calls this.

Inputs and outputs are bound to GPU memory. A time is the median of single runs from Python, each of which waits for the GPU, in
microseconds. Outputs are compared with those that ONNX Runtime's CPU provider gave. PyTorch's times are those of models_torch.py:
single calls in eager mode, which wait too."""
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
COLUMNS = ["model", "check", "device", "onnxruntime", "nodes", "taken", "torch", "eager_us", "eager_graph_us", "provider_us", "cpu_us"]
RUNS = 100
HEAD = """
## In ONNX Runtime

The same models in ONNX Runtime with tpat as its [execution provider](onnxruntime.md#the-execution-provider), with inputs and
outputs bound to GPU memory: medians of one run from Python, which waits for the GPU, in microseconds. *taken*: nodes that tpat runs,
of those that ONNX Runtime leaves after its own optimisations. *CPU*: its CPU provider. *PyTorch*: one call of the PyTorch module in
eager mode on the same GPU, with the same weights and inputs. *graph*: its kernels recorded as a CUDA graph, timed on the GPU without
Python. All outputs agree with those of ONNX Runtime's CPU provider. `bench/models.py provider` writes the numbers
(`bench/provider.tsv`)."""


def device_of(host):
    if not host.on_gpu:
        return "the processor"
    return subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True,
                          check=False).stdout.split("\n")[0] or "a GPU"


def bound(host, session, feeds, wanted):
    """A binding of GPU memory, and its outputs. On the processor, a binding of the host's."""
    import numpy
    import onnxruntime
    from host import NVIDIA

    def value(array):
        return onnxruntime.OrtValue.ortvalue_from_numpy(array, "gpu", 0, NVIDIA) if host.on_gpu else \
            onnxruntime.OrtValue.ortvalue_from_numpy(array)
    binding, outputs = session.io_binding(), []
    for name, array in feeds.items():
        binding.bind_ortvalue_input(name, value(array))
    for output, want in zip(session.get_outputs(), wanted):
        outputs.append(value(numpy.zeros_like(want)))
        binding.bind_ortvalue_output(output.name, outputs[-1])
    return binding, outputs


def median_us(run):
    for _ in range(10):
        run()
    times, end = [], time.perf_counter() + 2
    while len(times) < RUNS and (len(times) < 5 or time.perf_counter() < end):
        start = time.perf_counter()
        run()
        times.append(1e6 * (time.perf_counter() - start))
    return statistics.median(times)


def row_of(host, folder, name, tolerance):
    import onnxruntime
    from cases import first_difference
    from host import PROVIDER, plain, tensors_of
    path = os.path.join(folder, name, "model.onnx")
    values = tensors_of(os.path.join(folder, name, "tensors_0.onnx"))
    session = host.session(path)
    feeds = {value.name: values[value.name] for value in session.get_inputs()}
    wanted = [values[value.name] for value in session.get_outputs()]
    binding, outputs = bound(host, session, feeds, wanted)
    session.run_with_iobinding(binding)
    fault = first_difference([output.numpy() for output in outputs], wanted, tolerance)
    parts = session.get_provider_graph_assignment_info()
    row = {"model": name, "check": fault or "ok", "device": device_of(host), "onnxruntime": onnxruntime.__version__,
           "nodes": sum(len(part.get_nodes()) for part in parts),
           "taken": sum(len(part.get_nodes()) for part in parts if part.ep_name == PROVIDER)}
    if not fault:
        reference = plain(path)
        row["provider_us"] = f"{median_us(lambda: session.run_with_iobinding(binding)):.1f}"
        row["cpu_us"] = f"{median_us(lambda: reference.run(None, feeds)):.1f}"
    return row


def measure(options, names, theirs, write):
    """Times the models. `theirs`: the rows of `bench/models.py torch`, by model."""
    import gc
    sys.path.insert(0, os.path.join(ROOT, "tests", "provider"))
    from host import Host
    host, rows, end = Host(os.path.join(ROOT, "build", "libtpat_ep.so")), {}, time.monotonic() + options.seconds
    for name, tolerance in names:
        if time.monotonic() > end:
            break
        try:
            rows[name] = row_of(host, options.folder, name, tolerance)
            rows[name].update({column: theirs[name][column] for column in ("torch", "eager_us", "eager_graph_us") if name in theirs})
        except Exception as error:  # noqa: BLE001 - ONNX Runtime's errors have no common class
            rows[name] = {"model": name, "check": str(error).splitlines()[0]}
        print(*rows[name].values(), flush=True)
        write(rows)
    gc.collect()  # sessions end before their library
    host.close()
    wrong = sum(row["check"] != "ok" for row in rows.values())
    print(f"{len(rows) - wrong} passed, {wrong} failed")
    return wrong > 0


def gain(rows, column):
    """The geometric mean of a time of PyTorch's by tpat's, and over how many models."""
    from report import geometric_mean
    gains = [float(row[column]) / float(row["provider_us"]) for row in rows if row[column]]
    return f"{geometric_mean(gains):.2f} ({len(gains)} models)" if gains else "not measured"


def table(rows):
    rows = [row for row in rows if row["check"] == "ok"]
    if not rows:
        return
    print(HEAD + "\n\n| model | nodes | taken | tpat | CPU | PyTorch | PyTorch, graph |\n|---|---|---|---|---|---|---|")
    for row in rows:
        us = [f"{float(row[name]):.0f}" if row[name] else "" for name in ("provider_us", "cpu_us", "eager_us", "eager_graph_us")]
        print(f"| {row['model']} | {row['nodes']} | {row['taken']} | {' | '.join(us)} |")
    versions = " and ".join(sorted({f"ONNX Runtime {row['onnxruntime']}" for row in rows} | {f"PyTorch {row['torch']}" for row in rows if row["torch"]}))
    print(f"\n{versions}, {rows[0]['device']}. Geometric means: PyTorch / tpat {gain(rows, 'eager_us')}, as a CUDA graph "
          f"{gain(rows, 'eager_graph_us')}.\nModels as small as these spend their time in launches.")
