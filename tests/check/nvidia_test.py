#!/usr/bin/env python3
"""tpat check-plugin on a plugin library that NVIDIA built: libnvinfer_vc_plugin.so of TensorRT's lean runtime.

    pip download --no-deps tensorrt-lean-cu13-libs    the library is in the wheel
    tests/check/nvidia_test.py LIBRARY [NODES] [--device cuda]    NODES: what tests/nodes/export.py wrote (build/nodes)

There must be no finding. With --device cuda its ROIAlign_TRT must also give the outputs of ONNX's RoiAlign tests, and nothing may be
left unchecked; without a GPU its creator makes no plugin. The attributes are those that TensorRT's ONNX parser passes for a RoiAlign node."""
import json
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper

NAME = "ROIAlign_TRT"
CASES = "test_roialign_aligned_false", "test_roialign_aligned_true", "test_roialign_mode_max"
RANGE = "f32[4:6,1:3,10,10:17]", "f32[1:5,4]", "i32[1:5]"  # indices are 0 to 3
passed = failed = 0


def check(what, holds, why):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    print(what, "ok" if holds else f"FAIL: {why}")


def complete(got, cuda):
    return got["plugins"] == [NAME] and not got["findings"] and not (cuda and got["notes"])


def run(library, *arguments):
    done = subprocess.run(["build/tpat", "check-plugin", library, "--json", *arguments], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout else {"findings": [done.stderr], "notes": [], "plugins": []}


def attributes_of(path):
    given = {a.name: onnx.helper.get_attribute_value(a) for a in onnx.load(path).graph.node[0].attribute}
    passed_on = {"coordinate_transformation_mode": int(given.get("coordinate_transformation_mode", b"half_pixel") == b"half_pixel"),
                 "mode": int(given.get("mode", b"avg") == b"avg"), "output_height": 1, "output_width": 1, "sampling_ratio": 0,
                 "spatial_scale": 1.0, **{name: value for name, value in given.items() if not isinstance(value, bytes)}}
    return [text for name, value in passed_on.items() for text in ("-a", f"{name}={value}")]


def inputs_of(data, folder):
    """The files of a case's inputs. The parser casts the int64 indices to int32 for the plugin."""
    indices = numpy_helper.to_array(onnx.load_tensor(os.path.join(data, "input_2.pb")))
    numpy.save(os.path.join(folder, "indices.npy"), indices.astype(numpy.int32))
    return os.path.join(data, "input_0.pb"), os.path.join(data, "input_1.pb"), os.path.join(folder, "indices.npy")


def main():
    cuda = sys.argv[-2:] == ["--device", "cuda"]
    library, nodes = ([*sys.argv[1:-2 if cuda else None], "build/nodes"])[:2]
    got = run(library)
    check("creator", complete(got, False), got)
    for case in CASES:
        data, attributes = os.path.join(nodes, case, "test_data_set_0"), attributes_of(os.path.join(nodes, case, "model.onnx"))
        with tempfile.TemporaryDirectory() as folder:
            inputs = [text for file in inputs_of(data, folder) for text in ("-i", file)]
            got = run(library, *attributes, *inputs, "--expect", os.path.join(data, "output_0.pb"))
        check(case, complete(got, cuda), got)
        got = run(library, *attributes, *(text for one in RANGE for text in ("-i", one)))
        check(f"{case}, ranges", complete(got, cuda), got)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
