#!/usr/bin/env python3
"""The files of tpat deploy, for models whose files and tensors have awkward names: each is compiled or parsed by what
reads its language, for each version that changes them; the one for ONNX Runtime runs.

    tests/deploy/deploy_test.py FOLDER     needs build/tpat, onnx, onnxruntime and numpy; g++, sh"""
import ast
import configparser
import os
import runpy
import subprocess
import sys

import numpy
import onnx
import onnxruntime
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from onnx import TensorProto, helper

TPAT = os.path.abspath("build/tpat")
ENGINES = ["trtexec", "python", "cpp", "triton", "deepstream", "ort", "torch-tensorrt", "polygraphy"]
VERSIONS = ["8.5", "8.6", "9.2", "10.3", "10.13", "11.1"]
# the model's file, its input, its output
NAMES = [("plain", "x", "y"), ("a b", 'x"y', "$HOME"), ("it's", "a:b,c", "\\n"), ("é-1", "'q' #", "y}"), ("$(id)", "@model@", "e\tt")]
TYPES = [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.INT32, TensorProto.FLOAT]

# The part of TensorRT's interface that the program uses, as declared in its documentation.
NVINFER = """#pragma once
#include <cstddef>
#include <cstdint>
struct CUstream_st;
namespace nvinfer1 {
struct Dims { int32_t nbDims; int64_t d[8]; };
enum class DataType : int32_t { kFLOAT, kHALF, kINT8, kINT32, kBOOL %s };
enum class TensorIOMode : int32_t { kNONE, kINPUT, kOUTPUT };
class ILogger {
public:
	enum class Severity : int32_t { kINTERNAL_ERROR, kERROR, kWARNING, kINFO, kVERBOSE };
	virtual void log(Severity severity, char const *msg) noexcept = 0;
	virtual ~ILogger() = default;
};
class IPluginRegistry { public: void *loadLibrary(char const *path) noexcept; };
class IExecutionContext {
public:
	bool setInputShape(char const *name, Dims const &dims) noexcept;
	bool setTensorAddress(char const *name, void *data) noexcept;
	int64_t getMaxOutputSize(char const *name) const noexcept;
	bool enqueueV3(::CUstream_st *stream) noexcept;
};
class ICudaEngine {
public:
	IExecutionContext *createExecutionContext() noexcept;
	int32_t getNbIOTensors() const noexcept;
	char const *getIOTensorName(int32_t index) const noexcept;
	TensorIOMode getTensorIOMode(char const *name) const noexcept;
	DataType getTensorDataType(char const *name) const noexcept;
};
class IRuntime {
public:
	ICudaEngine *deserializeCudaEngine(void const *blob, std::size_t size) noexcept;
	%s
};
IRuntime *createInferRuntime(ILogger &logger) noexcept;
}
"""
CUDA = """#pragma once
#include <cstddef>
typedef struct CUstream_st *cudaStream_t;
enum cudaError_t { cudaSuccess };
cudaError_t cudaMalloc(void **pointer, size_t bytes);
cudaError_t cudaMemset(void *pointer, int value, size_t bytes);
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
"""


def model(path, x, y, kind):
    """y = softmax(x + x), or x + x of integers, with an open first axis."""
    nodes = [helper.make_node("Add", [x, x], ["sum"], name="add")]
    nodes += [helper.make_node("Softmax" if kind != TensorProto.INT32 else "Neg", ["sum"], [y], name="last")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(x, kind, ["N", 5])],
                              [helper.make_tensor_value_info(y, kind, ["N", 5])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def triton_config():
    """A message with the fields of Triton's ModelConfig that are written."""
    file = descriptor_pb2.FileDescriptorProto(name="config.proto", package="t", syntax="proto2")

    def message(name, *fields):
        m = file.message_type.add(name=name)
        for number, (field, kind, label) in enumerate(fields, 1):
            f = m.field.add(name=field, number=number, label=label)
            if isinstance(kind, str):
                f.type, f.type_name = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE, ".t." + kind
            else:
                f.type = kind
    text, number = descriptor_pb2.FieldDescriptorProto.TYPE_STRING, descriptor_pb2.FieldDescriptorProto.TYPE_INT64
    one, many = 1, 3
    enum = file.enum_type.add(name="Kind")
    for i, name in enumerate(["TYPE_FP32", "TYPE_FP16", "TYPE_INT32", "KIND_GPU"]):
        enum.value.add(name=name, number=i)
    message("Tensor", ("name", text, one), ("data_type", number, one), ("dims", number, many))
    message("Group", ("count", number, one), ("kind", number, one))
    for m, field in ((0, 1), (1, 1)):
        f = file.message_type[m].field[field]
        f.type, f.type_name = descriptor_pb2.FieldDescriptorProto.TYPE_ENUM, ".t.Kind"
    message("Config", ("name", text, one), ("platform", text, one), ("default_model_filename", text, one), ("max_batch_size", number, one),
            ("input", "Tensor", many), ("output", "Tensor", many), ("instance_group", "Group", many))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Config"))


class Checks:
    """The counts; a failure is printed."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, what, holds, why=""):
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
        if not holds:
            print(f"FAIL {what}: {why}")


def values_of(path, name):
    """A Python file's constant."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    namespace = {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign) and statement.targets[0].id == name:
            exec(compile(ast.Module([statement], []), path, "exec"), namespace)
    return namespace.get(name)


def check_shell(c, what, path, model_path, here):
    """The shell reads it; run in the folder `here`, programs of these names get the model's name, and files that exist."""
    done = subprocess.run(["sh", "-n", path], capture_output=True, text=True, check=False)
    c.check(what, done.returncode == 0, done.stderr)
    fake = os.path.join(os.path.dirname(os.path.dirname(path)), "bin")
    os.makedirs(fake, exist_ok=True)
    for program in ("trtexec", "polygraphy", "tritonserver"):
        with open(os.path.join(fake, program), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nfor a; do printf "%s\\n" "$a"; case $a in --onnx=*) test -f "${a#--onnx=}" || exit;; --dynamicPlugins=* | '
                       '--staticPlugins=* | --plugins=*) test -f "${a#*=}" || exit;; esac; done\n')
        os.chmod(os.path.join(fake, program), 0o755)
    done = subprocess.run(["sh", path], capture_output=True, text=True, check=False, cwd=here,
                          env={**os.environ, "PATH": fake + os.pathsep + os.environ["PATH"]})
    c.check(what, done.returncode == 0 and model_path in done.stdout, done.stdout + done.stderr)


def check_ort(c, what, path, original):
    """It runs, and its results are those of the original model."""
    ran = runpy.run_path(path)
    want = onnxruntime.InferenceSession(original, providers=["CPUExecutionProvider"]).run(None, ran["feeds"])
    got = ran["session"].run(None, ran["feeds"])
    c.check(what, all(numpy.allclose(a.astype(float), b.astype(float), atol=2e-3) for a, b in zip(want, got)), f"{want} {got}")


def check_files(c, folder, names, engine, version, config):
    """The files of one engine and version."""
    stem, x, y = names
    what, out = f"{stem} {engine} {version}", os.path.join(folder, "out " + stem, engine, version)
    done = subprocess.run([TPAT, "deploy", f"{stem}_tpat.onnx", "-e", engine, "--tensorrt", version, "-o", out, "-f",
                           "--library", f"libtpat_{stem}.so"], capture_output=True, text=True, check=False, cwd=folder)
    c.check(what, done.returncode == 0, done.stderr)
    if done.returncode:
        return
    for path in [os.path.join(out, line) for line in sorted(os.listdir(out))]:
        name = os.path.basename(path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if name.endswith(".sh"):
            check_shell(c, what, path, f"{stem}_tpat.onnx", folder)
        elif name.endswith(".py"):
            compile(text, path, "exec")
            inputs = values_of(path, "INPUTS")
            c.check(what, list(inputs) == [x] and values_of(path, "LIBRARIES") == [f"./libtpat_{stem}.so"], inputs)
        elif name.endswith(".cpp"):
            with open(os.path.join(out, "NvInfer.h"), "w", encoding="utf-8") as file:
                old = version.startswith(("8", "9"))
                types = ", kBF16, kINT64" if version == "9.2" else ""
                more = "IPluginRegistry &getPluginRegistry() noexcept;" if version != "8.5" else ""
                file.write(NVINFER % ((types, more) if old else (", kUINT8, kFP8, kBF16, kINT64",
                                                              more + " void setEngineHostCodeAllowed(bool allowed) noexcept;")))
            with open(os.path.join(out, "cuda_runtime_api.h"), "w", encoding="utf-8") as file:
                file.write(CUDA)
            done = subprocess.run(["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I" + out, path],
                                  capture_output=True, text=True, check=False)
            c.check(what, done.returncode == 0, done.stderr)
        elif name == "config.pbtxt":
            parsed = text_format.Parse(text, config())
            c.check(what, parsed.name == stem and parsed.input[0].name == x and parsed.output[0].name == y and
                    list(parsed.input[0].dims) == [-1, 5], text)
        elif name == "nvinfer_config.txt":
            ini = configparser.RawConfigParser()
            ini.read_string(text)
            model_path = os.path.join(os.path.realpath(folder), f"{stem}_tpat.onnx")
            c.check(what, ini["property"]["onnx-file"] == model_path and
                    ini["property"]["custom-lib-path"].endswith(f"libtpat_{stem}.so"), text)


def main():
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    c, config = Checks(), triton_config()
    for names, kind in zip(NAMES, TYPES):
        stem, x, y = names
        model(os.path.join(folder, stem + ".onnx"), x, y, kind)
        done = subprocess.run([TPAT, "build", stem + ".onnx", "--all", "--arch", "sm_90", "-q"], cwd=folder, capture_output=True,
                              text=True, check=False)
        c.check(stem, done.returncode == 0, done.stderr)
        for engine in ENGINES:
            for version in VERSIONS if engine in ("trtexec", "python", "cpp") else VERSIONS[-1:]:
                check_files(c, folder, names, engine, version, config)
        os.chdir(folder)
        check_ort(c, stem, os.path.join(folder, "out " + stem, "ort", VERSIONS[-1], "run_onnxruntime.py"), stem + ".onnx")
    print(f"{c.passed} passed, {c.failed} failed")
    return c.failed > 0


if __name__ == "__main__":
    sys.exit(main())
