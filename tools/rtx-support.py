#!/usr/bin/env python3
"""The table of what TensorRT supports against the real TensorRT-RTX: rtx-support.py FOLDER [--every N]

    FOLDER    what tests/nodes/export.py wrote: ONNX's node tests

Each model is parsed and built, in processes of their own, since some end it. `tpat list` must say "no" of a node where TensorRT
refuses the model, and of none where it builds an engine; "partly" is right for both. Nodes that tensors of wrong types or a refused
neighbour decide are not looked at one by one: the model counts. Models with doubles are left out: TensorRT
computes them as float32, and tpat says "no". Works without a GPU. Ends with "N passed, N failed"."""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import subprocess
import sys

CHUNK = 24
# Models whose answers differ, as patterns, and why.
EXPECTED = (
    ("test_*quantizelinear_e4m3fn*", "TensorRT does not look at a zero point that is no constant"),
    ("test_*window*_expanded", "a range of floats that TensorRT computes from extents"),
    ("test_rms_normalization_*_expanded", "axes from a Range, which tpat knows and TensorRT does not fold"),
    ("test_optional_has_element_empty_no_input_*", "tpat replaces optional values when it opens a model"),
    ("test_identity_sequence", "not a tensor"), ("test_identity_opt", "not a tensor"),
)


def profile_of(builder, network, path):
    """The test's values of inputs that TensorRT takes as shapes."""
    import onnx
    from onnx import numpy_helper
    profile = builder.create_optimization_profile()
    for i in range(network.num_inputs):
        tensor = network.get_input(i)
        if tensor.is_shape_tensor:
            with open(os.path.join(os.path.dirname(path), "test_data_set_0", f"input_{i}.pb"), "rb") as file:
                values = [int(x) for x in numpy_helper.to_array(onnx.TensorProto.FromString(file.read())).flatten()]
            profile.set_shape_input(tensor.name, values, values, values)
    return profile


def ask(paths):
    """In a child: for each model a line "built", "parsed" or "refused"."""
    try:
        import tensorrt_rtx as trt
    except ImportError:
        import tensorrt_rtx_bindings as trt
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    for path in paths:
        builder = trt.Builder(logger)
        network = builder.create_network(0)
        parser = trt.OnnxParser(network, logger)
        answer = "refused"
        if parser.parse_from_file(path) and network.num_outputs:
            config = builder.create_builder_config()
            config.add_optimization_profile(profile_of(builder, network, path))
            answer = "built" if builder.build_serialized_network(network, config) else "parsed"
        print(path, answer, flush=True)


def answers(paths):
    """The real answers; a model that ends the process is refused."""
    done = {}
    while len(done) < len(paths):
        rest = [path for path in paths if path not in done]
        out = subprocess.run([sys.executable, __file__, "--ask", *rest], capture_output=True, text=True, check=False).stdout
        done.update(line.split() for line in out.splitlines())
        if len(done) < len(paths):
            done[next(path for path in paths if path not in done)] = "ended"
    return done


def has_doubles(path):
    import onnx
    double, model = onnx.TensorProto.DOUBLE, onnx.load(path)
    nodes = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    while nodes:
        for attribute in nodes.pop().attribute:
            if attribute.t.data_type == double or (attribute.name in ("to", "dtype") and attribute.i == double):
                return True
            nodes += attribute.g.node
    values = *model.graph.input, *model.graph.output, *model.graph.value_info
    return any(value.type.tensor_type.elem_type == double for value in values) or \
        any(tensor.data_type == double for tensor in model.graph.initializer)


def listed(path):
    done = subprocess.run(["build/tpat", "list", path, "--json"], capture_output=True, text=True, check=False)
    return [node["tensorrt"] for node in json.loads(done.stdout)["nodes"]] if done.returncode == 0 else None


def fault(path, real):
    words = listed(path)
    if words is None:
        return "tpat list fails"
    if "no" in words and real == "built":
        return "TensorRT builds it, tpat says no"
    if not {"no", "partly"} & set(words) and real != "built":
        return f"TensorRT does not build it ({real}), tpat says yes"
    return None


def main():
    if sys.argv[1:2] == ["--ask"]:
        return ask(sys.argv[2:])
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    names = [line.split("\t")[0] for line in open(os.path.join(options.folder, "index.tsv"), encoding="utf-8") if line[0] != "#"]
    paths = [os.path.join(options.folder, name, "model.onnx") for name in names][::options.every]
    paths = [path for path in paths if not has_doubles(path)]
    chunks = [paths[i:i + CHUNK] for i in range(0, len(paths), CHUNK)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in pool.map(answers, chunks):
            for path, what in zip(done, pool.map(lambda item: fault(*item), done.items())):
                name = os.path.basename(os.path.dirname(path))
                if what and not any(fnmatch.fnmatch(name, pattern) for pattern, _ in EXPECTED):
                    failed += 1
                    print(f"FAIL {name}: {what}", flush=True)
    print(f"{len(paths) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
