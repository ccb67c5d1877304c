"""Rewritten models pass ONNX's checker, with full_check, wherever their originals do: checked.py PROGRAM EVERY PATTERN ...
PROGRAM is rewrite_test; of the models that each glob pattern finds, every EVERY-th is tried: as it is, and with one more node
after each output, which needs to know the type of what a plugin makes."""
import glob
import os
import subprocess
import sys
import tempfile

import onnx

AT_ONCE = 200


def wrong(model):
    """The checker's error for a model or its file; None if it passes."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # its exceptions have no common class
        return f"{type(error).__name__}: {error}"
    return None


def grow(path, out):
    """Writes the model with an Identity after each output; returns the path, or None if an output's type forbids it."""
    try:
        model = onnx.load(path)
    except Exception:
        return None
    if model.ir_version < 4 or not any(o.domain in ("", "ai.onnx") and o.version >= 16 for o in model.opset_import):
        return None
    typed = onnx.ModelProto()
    typed.CopyFrom(model)
    typed.graph.value_info.extend(model.graph.output)
    for grown in model, typed:
        for output in grown.graph.output:
            name = output.name + "_behind"
            grown.graph.node.append(onnx.helper.make_node("Identity", [output.name], [name]))
            output.name = name
    if wrong(typed):  # Identity does not support the type
        return None
    onnx.save(model, out)
    return out


def check(models, program, folder):
    """Returns the numbers of models that pass and fail."""
    passed = failed = 0
    status = subprocess.run([program, folder, *models], stdout=subprocess.DEVNULL).returncode
    if status:
        print(f"{program} ends with {status}, on one of {models[0]} and the {len(models) - 1} after it")
        failed += 1
    for number, model in enumerate(models):
        for way in "each", "three", "half", "inside", "within":
            rewritten = os.path.join(folder, f"{number}.{way}.onnx")
            if not os.path.exists(rewritten):
                continue
            why = wrong(rewritten)
            if why and not wrong(model):
                print(f"{model}, rewritten ({way}): {why[:300]}")
                failed += 1
            else:
                passed += 1
            os.remove(rewritten)
    return passed, failed


program, every = os.path.abspath(sys.argv[1]), int(sys.argv[2])
models = [os.path.abspath(path) for pattern in sys.argv[3:] for path in sorted(glob.glob(pattern))[::every]]
total = [0, 0]
with tempfile.TemporaryDirectory(prefix="tpat-checked-") as folder:
    for at in range(0, len(models), AT_ONCE):
        part = models[at:at + AT_ONCE]
        grown = [grow(path, os.path.join(folder, f"{os.path.basename(os.path.dirname(path))}_{at + i}.onnx"))
                 for i, path in enumerate(part)]
        for some in part, [path for path in grown if path]:
            total = [a + b for a, b in zip(total, check(some, program, folder))]
        for path in grown:
            if path:
                os.remove(path)
print(f"{total[0]} passed, {total[1]} failed")
sys.exit(total[1] > 0 or total[0] == 0)
