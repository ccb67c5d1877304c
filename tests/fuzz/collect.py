#!/usr/bin/env python3
"""Makes the fuzz targets' corpora (tests/fuzz/corpus) anew, or adds to them:

    collect.py seeds [EVERY]  build/fuzz/seeds: what fuzzing begins with, or one in EVERY of it
    collect.py merge TARGET [FOLDER ...]
                              tests/fuzz/corpus/TARGET: the fewest files of it, of the seeds and of the folders that reach
                              all code that they reach together; TARGET: whole, model, ir

Seeds are the models of build/nodes and build/ort (made by the groups nodes and ort), neighbouring nodes of the zoo's
models, and the golden programs' texts; none is longer than 4 KB. A file that a fuzz target found (build/fuzz/crash-...) is put into
the corpus by hand, with a name that says what it is: merge keeps files whose name is not a hash."""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SEEDS = "build/fuzz/seeds"
LONGEST = 4096          # bytes of a file
MOST = {"whole": 700_000, "model": 100_000, "ir": 150_000}  # bytes of a corpus
SUFFIX = {"whole": ".onnx", "model": ".onnx", "ir": ".ir"}
CUT = 4                 # nodes of a piece of a zoo's model
INLINE = 256            # bytes of an initializer that stays one; larger ones become inputs
HASH = re.compile(r"^[0-9a-f]{16}\.")


def keep(folder, suffix, data):
    if 0 < len(data) <= LONGEST:
        with open(f"{folder}/{hashlib.sha1(data).hexdigest()[:16]}{suffix}", "wb") as file:
            file.write(data)


def pieces(path):
    """Neighbouring nodes of a model, each piece a model; what it reads are inputs of the types that inference finds."""
    import onnx
    model = onnx.load(path)
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # inference knows less than the file
        graph = model.graph
    known = {value.name: value for value in (*graph.value_info, *graph.input, *graph.output)}
    weights = {tensor.name: tensor for tensor in graph.initializer}
    for at in range(0, len(graph.node), CUT):
        nodes = graph.node[at:at + CUT]
        made = {name for node in nodes for name in node.output if name}
        read = {name for node in nodes for name in node.input if name} - made
        piece = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
        piece.graph.name = "piece"
        piece.graph.node.extend(nodes)
        for name in sorted(read):
            if name in weights and weights[name].ByteSize() <= INLINE:
                piece.graph.initializer.append(weights[name])
            elif name in weights:
                piece.graph.input.append(onnx.helper.make_tensor_value_info(name, weights[name].data_type, weights[name].dims))
            elif name in known:
                piece.graph.input.append(known[name])
        piece.graph.output.extend(known.get(name, onnx.ValueInfoProto(name=name)) for name in sorted(made))
        yield piece.SerializeToString()


def make_seeds(every):
    shutil.rmtree(SEEDS, ignore_errors=True)
    os.makedirs(SEEDS + "/whole")
    os.makedirs(SEEDS + "/ir")
    for path in sorted(glob.glob("build/nodes/*/model.onnx") + glob.glob("build/ort/*/model.onnx"))[::every]:
        with open(path, "rb") as file:
            keep(SEEDS + "/whole", ".onnx", file.read())
    for path in sorted(glob.glob("tests/zoo/*.onnx")):
        for data in list(pieces(path))[::every]:
            keep(SEEDS + "/whole", ".onnx", data)
    for path in glob.glob("tests/golden/*.ir"):
        with open(path, "rb") as file:
            keep(SEEDS + "/ir", ".ir", file.read())


def merge(target, folders):
    corpus, new = f"tests/fuzz/corpus/{target}", f"build/fuzz/merged_{target}"
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    os.makedirs(corpus, exist_ok=True)
    seeds = [f"{SEEDS}/{'ir' if target == 'ir' else 'whole'}"]
    subprocess.run(["build/fuzz/fuzz_" + target, "-set_cover_merge=1", "-use_counters=0", f"-max_len={LONGEST}", "-timeout=100",
                    "-rss_limit_mb=2048", "-artifact_prefix=build/fuzz/", new, corpus, *seeds, *folders], check=True)
    for name in os.listdir(corpus):
        if HASH.match(name):
            os.remove(f"{corpus}/{name}")
    room = MOST[target]
    for path in sorted(glob.glob(new + "/*"), key=os.path.getsize):
        room -= os.path.getsize(path)
        if room < 0:
            break
        with open(path, "rb") as file:
            keep(corpus, SUFFIX[target], file.read())


if __name__ == "__main__":
    if len(sys.argv) in (2, 3) and sys.argv[1] == "seeds":
        make_seeds(int(sys.argv[2]) if len(sys.argv) == 3 else 1)
    elif len(sys.argv) > 2 and sys.argv[1] == "merge" and sys.argv[2] in MOST:
        merge(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(__doc__)
