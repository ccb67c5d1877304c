"""Compiled models: ONNX Runtime writes them with tpat's regions as nodes EPContext, and they run in a process that has no
compiler. Each test takes the Host and the folder of models.

As a program, it is that process: compiled.py LIBRARY FOLDER runs the models that FOLDER/list names, one a line, with the inputs in
NAME.npz, and writes NAME.out.npz."""
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper

from host import PROVIDER, Host, expect, feeds_of, groups_of, made, plain

MODELS = "small", "layers", "contrib", "bodies", "found", "counted", "packed_weights", "odd_names", "external"
GIVEN = {"counted": {"times": [2, 3], "k": [2]}}


def entries(path, embed):
    return {"ep.context_enable": "1", "ep.context_embed_mode": str(int(embed)), "ep.context_file_path": path}


def nodes_of(path):
    return [node for node in onnx.load(path, load_external_data=False).graph.node if node.op_type == "EPContext"]


def attribute(node, name):
    return next(helper.get_attribute_value(a) for a in node.attribute if a.name == name)


def same(got, want, what):
    expect(got.shape == want.shape and got.dtype == want.dtype, f"{what} is {got.dtype}{got.shape}")
    close = numpy.allclose(got, want, 1e-3, 1e-4 * max(1, numpy.abs(want).max(initial=0))) if want.dtype.kind == "f" else (got == want).all()
    expect(close, f"{what} differs")


def without_compiler(host, folder, cases):
    """Runs compiled models elsewhere, and compares. `cases`: name, feeds by size, reference."""
    with open(os.path.join(folder, "list"), "w", encoding="utf-8") as file:
        for name, feeds, _ in cases:
            file.write(name + "\n")
            numpy.savez(os.path.join(folder, name + ".npz"), **{f"{i}/{key}": value for i, feed in enumerate(feeds) for key, value in feed.items()})
    env = {**os.environ, "CC": "/none/cc", "CXX": "/none/c++", "TPAT_NVRTC": "/none/nvrtc", "TPAT_CACHE": os.path.join(folder, "cache")}
    done = subprocess.run([sys.executable, __file__, host.library, folder], env=env, capture_output=True, text=True, timeout=600, check=False)
    expect(done.returncode == 0, f"status {done.returncode}: {done.stdout[-800:]} {done.stderr[-800:]}")
    for name, feeds, reference in cases:
        out = numpy.load(os.path.join(folder, name + ".out.npz"))
        for i, feed in enumerate(feeds):
            for value, want in zip(reference.get_outputs(), reference.run(None, feed)):
                same(out[f"{i}/{value.name}"], want, f"{name}: {value.name}")


def run_list(library, folder):
    host = Host(library)
    for name in open(os.path.join(folder, "list"), encoding="utf-8").read().splitlines():
        stored, out = numpy.load(os.path.join(folder, name + ".npz")), {}
        session = host.session(os.path.join(folder, name + ".onnx"), **{"session.disable_model_compiles": "1"})
        for i in sorted({key.split("/")[0] for key in stored.files}):
            feeds = {key.split("/", 1)[1]: stored[key] for key in stored.files if key.split("/")[0] == i}
            for value, got in zip(session.get_outputs(), session.run(None, feeds)):
                out[f"{i}/{value.name}"] = got
        numpy.savez(os.path.join(folder, name + ".out.npz"), **out)
        del session, value  # before the library; a description of an output keeps its session
    host.close()


def models_and_files(host, models):
    """Models with static and open extents, sizes from data, bodies and weights; regions in the model and in files."""
    with tempfile.TemporaryDirectory() as folder:
        cases = []
        slow = "FAKE_GPU_LOG" in os.environ  # its compiler
        for i, name in enumerate(MODELS[::3] if slow else MODELS):
            source, path, reference = os.path.join(models, name + ".onnx"), os.path.join(folder, name + ".onnx"), None
            session, reference = host.session(source, **entries(path, i % 2)), plain(source)
            feeds = [feeds_of(reference, size, seed, GIVEN.get(name)) for size, seed in ((4, 1), (7, 2))]
            for value, got, want in zip(reference.get_outputs(), session.run(None, feeds[0]), reference.run(None, feeds[0])):
                same(got, want, f"{name} when it is compiled: {value.name}")
            for node in nodes_of(path):
                expect(attribute(node, "source") == PROVIDER.encode() and attribute(node, "embed_mode") == i % 2, node.name)
                if not i % 2:
                    file = attribute(node, "ep_cache_context").decode()
                    expect(file.startswith(name + "_tpat_") and os.path.exists(os.path.join(folder, file)), file)
            expect(nodes_of(path), f"{name} has no compiled region")
            cases.append((name, feeds, reference))
        without_compiler(host, folder, cases)


def two_regions():
    nodes = [helper.make_node("Exp", ["x"], ["a"]), helper.make_node("Cast", ["a"], ["text"], to=T.STRING),
             helper.make_node("Cast", ["text"], ["b"], to=T.FLOAT), helper.make_node("Mul", ["a", "w"], ["c"]),
             helper.make_node("ReduceSum", ["c"], ["d"]), helper.make_node("Sub", ["b", "d"], ["y"])]
    return made(nodes, [("x", T.FLOAT, ["N", 4])], [("y", T.FLOAT, [None, None]), ("c", T.FLOAT, ["N", 4])],
                [helper.make_tensor("w", T.FLOAT, [4], [1, 2, 3, 4])])


def several_regions(host, _models):
    """Two regions around nodes of others, the tensors renamed and the model moved to another folder."""
    with tempfile.TemporaryDirectory() as folder:
        path, moved = os.path.join(folder, "first.onnx"), os.path.join(folder, "second")
        host.session(two_regions(), **entries(path, False))
        expect(len(nodes_of(path)) == 2, f"{len(nodes_of(path))} regions")
        renamed = onnx.compose.add_prefix(onnx.load(path), "p/")
        os.mkdir(moved)
        for file in os.listdir(folder):
            if file.endswith(".bin"):
                os.rename(os.path.join(folder, file), os.path.join(moved, file))
        onnx.save(renamed, os.path.join(moved, "first.onnx"))
        original = onnx.compose.add_prefix(onnx.load_from_string(two_regions()), "p/").SerializeToString()
        reference = plain(original)
        without_compiler(host, moved, [("first", [feeds_of(reference, n, n) for n in (3, 5)], reference)])


def compiler(host, models):
    """ONNX Runtime's ModelCompiler, to a file and to bytes."""
    source = os.path.join(models, "small.onnx")
    options = onnxruntime.SessionOptions()
    options.add_provider_for_devices(host.devices[:1], host.options)
    reference = plain(source)
    feeds = [feeds_of(reference, n, n) for n in (3, 5)]
    with tempfile.TemporaryDirectory() as folder:
        onnxruntime.ModelCompiler(options, source).compile_to_file(os.path.join(folder, "to_file.onnx"))
        data = onnxruntime.ModelCompiler(options, source, embed_compiled_data_into_model=True).compile_to_bytes()
        with open(os.path.join(folder, "to_bytes.onnx"), "wb") as file:
            file.write(data)
        without_compiler(host, folder, [(name, feeds, reference) for name in ("to_file", "to_bytes")])


def fails(words, make):
    try:
        make()
    except Exception as error:  # ONNX Runtime's own classes
        for word in words:
            expect(word in str(error), error)
    else:
        raise AssertionError(f"no error with {words}")


def faults(host, models):
    """Damaged bytes at any place, files outside the folder or missing, a model that is compiled already, no path."""
    source = os.path.join(models, "small.onnx")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "c.onnx")
        host.session(source, **entries(path, False))
        file = os.path.join(folder, attribute(nodes_of(path)[0], "ep_cache_context").decode())
        with open(file, "rb") as stream:
            good = stream.read()
        rng = numpy.random.default_rng(1)
        for place in (*range(0, 40, 5), *rng.integers(40, len(good), 12), len(good) - 1):
            with open(file, "wb") as stream:
                stream.write(good[:place] + bytes([good[place] ^ 0x41]) + good[place + 1:])
            fails(("A compiled region is damaged", "Make the compiled model again"), lambda: host.session(path))
        for length in (0, 3, len(good) // 2, len(good) - 1):
            with open(file, "wb") as stream:
                stream.write(good[:length])
            fails(("A compiled region is damaged",), lambda: host.session(path))
        os.remove(file)
        fails((os.path.basename(file),), lambda: host.session(path))
        for name in "/etc/passwd", "../c.bin", "x/../../c.bin":
            model = onnx.load(path)
            for a in model.graph.node[0].attribute:
                if a.name == "ep_cache_context":
                    a.s = name.encode()
            onnx.save(model, path)
            fails(("outside the model's folder", name), lambda: host.session(path))
        host.session(source, **entries(os.path.join(folder, "again.onnx"), True))
        fails(("compiled already",), lambda: host.session(os.path.join(folder, "again.onnx"), **entries(path + "2", True)))


TESTS = models_and_files, several_regions, compiler, faults

if __name__ == "__main__":
    run_list(sys.argv[1], sys.argv[2])
