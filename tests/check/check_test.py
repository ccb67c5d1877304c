#!/usr/bin/env python3
"""tpat check-plugin on small plugins with one planted fault at a time, and on libraries without faults. The rules of the checker
are those of docs/check-plugin.md.

    tests/check/check_test.py FOLDER     needs build/tpat and cc"""
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy
import onnx

TPAT = os.path.abspath("build/tpat")
HERE = os.path.dirname(os.path.abspath(__file__))
RULES = os.path.join(HERE, "../../src/engine/tensorrt/host_check_rules.def")
PAGE = os.path.join(HERE, "../../docs/check-plugin.md")
RUN = "--input", "f32[0:4,3]", "--host-memory"
ENDS = "ends the process"
# Parts of each fault's first finding: the call, and its result. Of plugin.c (IPluginV3):
FAULTS = {
    1: ("createPlugin(kBUILD)", "PLUGIN_V2"), 2: ("getCapabilityInterface(kCORE)", "2.0"), 3: ("getCapabilityInterface(kBUILD)", "(null)"),
    4: ("destructor", ENDS), 5: ("destructor", "bytes more each time"), 6: ("clone", "returns null"), 7: ("clone", "the object itself"),
    8: ("clone", "another number of outputs"), 9: ("getCapabilityInterface(kBUILD)", "returns null"),
    10: ("getCapabilityInterface(kCORE)", "another object"), 11: ("getPluginName", "returns null"), 12: ("getPluginName", "empty"),
    13: ("getPluginName", "differ"), 14: ("getPluginVersion", "another text"), 15: ("getPluginVersion", "returns null"),
    16: ("getPluginNamespace", "returns null"), 17: ("configurePlugin", "fails"), 18: ("getOutputDataTypes", "fails"),
    19: ("getOutputShapes", "fails"), 20: ("supportsFormatCombination", "accepts no type"), 21: ("getNbOutputs", "impossible"),
    22: ("getNbOutputs", "another number"), 23: ("getValidTactics", "not positive"), 24: ("getValidTactics", "twice"),
    25: ("getValidTactics", "fails"), 26: ("getNbTactics", "impossible"), 27: ("getFormatCombinationLimit", "below 1"),
    28: ("setTactic", "refuses"), 29: ("attachToContext", "null"), 30: ("getFieldsToSerialize", "one name"),
    31: ("getFieldsToSerialize", "no data"), 32: ("getFieldsToSerialize", "no name"), 33: ("getFieldsToSerialize", "unknown type"),
    34: ("getFieldsToSerialize", "returns null"), 35: ("getInterfaceInfo", "PLUGIN_CREATOR_V3ONE"),
    36: ("createPlugin(kRUNTIME)", "returns null"), 37: ("createPlugin(kBUILD)", "reads beyond the fields"),
    38: ("getFieldsToSerialize", "other bytes"), 40: ("getFieldNames", "impossible"), 41: ("loading", "setLoggerFinder"),
    42: ("getCreators", "two creators"), 43: ("loading", "no plugin"), 44: ("unloading", ENDS), 45: ("getFieldsToSerialize", "no name"),
    50: ("getFieldsToSerialize", "an earlier call gave"), 51: ("getFieldsToSerialize", "an earlier call gave"),
    52: ("createPlugin", "8 bytes of each element of field factor, which is kINT32"), 53: ("createPlugin", "factor, which has length 0"),
    54: ("getFieldNames", "other fields"), 55: ("getCreators", "other creators"), 56: ("getFieldNames", "no name"),
    57: ("getFieldNames", "unknown type"), 58: ("getFieldNames", "negative length"), 59: ("clone", "original's capability"),
    60: ("clone", "other bytes than the original's"), 61: ("enqueue", "after another one was prepared"),
    62: ("onShapeChange", "after other shapes"), 63: ("getFieldsToSerialize", "second call gives other bytes"), 64: ("clone", "other bytes than the original's"),
    65: ("createPlugin(kRUNTIME)", "computes something else"), 66: ("createPlugin(kRUNTIME)", "computes something else"),
    67: ("attachToContext", "the object itself"), 68: ("enqueue", "beyond the end of the workspace of 48"),
    69: ("getWorkspaceSize", "4048 bytes for a range, but 4096"), 70: ("getWorkspaceSize", "second call"),
    71: ("enqueue", "what the workspace held"), 72: ("getWorkspaceSize", "impossible"), 73: ("enqueue", "beyond the end of output 0 of 48"),
    74: ("enqueue", "4 of 48 bytes of the outputs unwritten"), 75: ("getOutputShapes", "output 0 unset"),
    76: ("getOutputShapes", "another call"), 77: ("getOutputShapes", "-5"), 78: ("getOutputShapes", "other shapes"),
    79: ("getWorkspaceSize", ENDS), 80: ("enqueue", "beyond the end of output 0 of 0"), 81: ("getOutputShapes", "more than 1"),
    82: ("supportsFormatCombination", "every type and format"), 83: ("supportsFormatCombination", "another answer"),
    84: ("supportsFormatCombination", "after pos"), 86: ("supportsFormatCombination", "output 0 in no format"),
    87: ("getOutputDataTypes", "no DataType"), 88: ("getOutputDataTypes", "unset"), 89: ("getOutputDataTypes", "more than 1"),
    90: ("enqueue", "beyond the end of output 0 of 0"), 91: ("configurePlugin", "second time"), 92: ("onShapeChange", "fails"),
    93: ("enqueue", "into input 0"), 94: ("enqueue", "before output 0"), 95: ("enqueue", "fails"),
    96: ("enqueue, of two contexts in two threads", "compute something else than alone"), 97: ("clone", "bytes more each time"),
    98: ("enqueue", "bytes more each time"), 99: ("attachToContext", "bytes more each time"), 100: ("getTimingCacheID", "configurePlugin"),
    101: ("enqueue", "what the outputs held"), 102: ("getOutputShapes", "rank 9"), 103: ("getInterfaceInfo", "getAPILanguage() says 7"),
    104: ("setTactic", "refuses tactic 2"), 105: ("getValidTactics", "more than the 2"), 106: ("getPluginNamespace", "another text"),
    107: ("getPluginVersion", "empty"), 108: ("getPluginName", "too long"), 110: ("getOutputShapes", "null"),
    111: ("enqueue, of two contexts in two threads", "fails"), 112: ("getOutputDataTypes", "other types"),
    113: ("enqueue", "before the workspace"), 114: ("enqueue", "beyond the end of input 0"), 115: ("enqueue", "fails"),
    116: ("getFieldNames", "null"), 117: ("loading", "no plugin"), 118: ("getAliasedInput", "output 0 it returns 3"),
    119: ("getAliasedInput", "returns -2"), 120: ("enqueue", "before or after"), 121: ("enqueue", "before or after"),
    122: ("setTactic", "tactic 1 computes something else"), 123: ("enqueue", "4 of 36 bytes"), 124: ("enqueue", "descriptions of tensors"),
    125: ("getWorkspaceSize", "descriptions of tensors"), 126: ("onShapeChange", "descriptions of tensors"),
}
# Of plugin_v2.c (IPluginV2DynamicExt):
FAULTS_V2 = {
    1: ("getTensorRTVersion", "names no interface"), 2: ("getPluginType", "null"), 3: ("getPluginType", "differ"),
    4: ("getPluginVersion", "empty"), 5: ("getNbOutputs", "impossible"), 6: ("initialize", "fails"), 7: ("destroy", ENDS),
    8: ("getSerializationSize", "another size"), 9: ("getSerializationSize", "impossible"), 10: ("serialize", "other bytes"),
    11: ("clone", "other bytes than the original's"), 12: ("serialize", "beyond the bytes"), 13: ("serialize", "4 of 8 bytes unwritten"),
    14: ("destroy", ENDS), 15: ("destroy", "bytes more each time"), 16: ("clone", "null"), 17: ("clone", "the object itself"),
    18: ("clone", "other bytes than the original's"), 19: ("setPluginNamespace", "a clone's"), 20: ("setPluginNamespace", "then returns"),
    21: ("getOutputDataType", "no DataType"), 22: ("getOutputDimensions", "rank -1"), 23: ("getOutputDimensions", "null"),
    24: ("getOutputDimensions", "-3"), 25: ("supportsFormatCombination", "accepts no type"), 26: ("supportsFormatCombination", "every type"),
    27: ("supportsFormatCombination", "after pos"), 28: ("getWorkspaceSize", "for a range"), 29: ("enqueue", "after another one was prepared"),
    30: ("enqueue", "beyond the end of output 0 of 0"), 31: ("enqueue", "fails"), 32: ("enqueue", "beyond the end of the workspace"),
    33: ("enqueue", "beyond the end of output 0"), 34: ("enqueue", "unwritten"), 35: ("enqueue", "into input 0"),
    36: ("enqueue", "configurePlugin() and enqueue() leave"), 37: ("getPluginName", "empty"), 38: ("getPluginNamespace", "null"),
    39: ("getFieldNames", "no name"), 40: ("createPlugin", "length 0"), 41: ("deserializePlugin", "null"),
    42: ("deserializePlugin", "beyond the bytes"), 43: ("serialize", "other bytes"), 44: ("enqueue", "an earlier call gave"),
    45: ("getInterfaceInfo", "CREATOR_V1\" 2.0"), 46: ("enqueue", "before or after"), 47: ("enqueue", "4 of 36 bytes"),
}
# Of plugin.cpp, the same class with IPluginV3 and with IPluginV2DynamicExt:
THROWN = "an exception leaves it, which ends the process: "
FAULTS_CPP = {
    1: ("enqueue", THROWN + "std::runtime_error: no kernel for these shapes"), 2: ("createPlugin", THROWN + "std::out_of_range"),
    3: ("clone", "other bytes than the original's"), 4: ("enqueue", "after another one was prepared"),
    5: ("", "computes something else than the plugin that was configured"), 6: ("createPlugin", ENDS),
    7: ("destr", "bytes more each time"), 8: ("destr", ENDS), 12: ("getOutput", "an expression of another call"),
    13: ("createPlugin", THROWN), 14: ("loading", THROWN + "std::logic_error: no configuration file"), 15: ("", ENDS), 16: ("enqueue", "bytes more each time"),
}
FAULTS_CPP_V3 = {**FAULTS_CPP, 9: ("getCapabilityInterface(kCORE)", "not \"PLUGIN_V3ONE_CORE\""),
                 10: ("getCapabilityInterface(kRUNTIME)", "not \"PLUGIN_V3ONE_RUNTIME\""), 11: ("configurePlugin", THROWN + "std::bad_alloc")}
FAULTS_CPP_V2 = {**FAULTS_CPP, 9: ("", "other bytes"), 10: ("setPluginNamespace", "a clone's"), 11: ("serialize", THROWN + "std::bad_alloc")}
FORMS = {8: "8.6", 10: "10.3", 11: "11.1"}  # of IPluginV2's tables, and a TensorRT that has each
RIGHT = {1: "fields of four bits are packed", 2: "the context has an allocator", 3: "HWC8 is the only format", 5: "an output shares its input's memory",
         6: "results differ from run to run", 7: "results differ by their rounding"}
passed = failed = 0


def check(what, holds, why):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print(f"FAIL {what}: {why}")


def run(*arguments, **env):
    """The exit status and the findings."""
    done = subprocess.run([TPAT, "check-plugin", *arguments, "--json"], capture_output=True, text=True, check=False, env={**os.environ, **env})
    return done.returncode, json.loads(done.stdout) if done.stdout else {"findings": [], "notes": [], "error": done.stderr}


def compile_library(source, library, *defines):
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O1", "-w", "-shared", "-fPIC", *defines, f"-I{HERE}/../../include",
                    os.path.join(HERE, source), "-o", library], check=True)
    return library


def build(fault, folder, right=0):
    return compile_library("plugin.c", os.path.join(folder, f"libfault{fault}_{right}.so"), f"-DFAULT={fault}", f"-DRIGHT={right}")


def build_v2(fault, form, folder, right=0):
    return compile_library("plugin_v2.c", os.path.join(folder, f"libv2_{form}_fault{fault}_{right}.so"), f"-DFAULT={fault}",
                           f"-DFORM={form}", f"-DRIGHT={right}")


def build_cpp(fault, form, folder, v2, offer=1, compiler=None):
    library = os.path.join(folder, f"libcpp_{form}_{int(v2)}_fault{fault}_{offer}.so")
    subprocess.run([compiler or os.environ.get("CXX", "c++"), "-std=c++14", "-O0", "-w", "-shared", "-fPIC", "-fvisibility=hidden",
                    *(["-DV2"] if v2 else []), f"-DFORM={form}", f"-DFAULT={fault}", f"-DOFFER={offer}",
                    os.path.join(HERE, "plugin.cpp"), "-o", library], check=True)
    return library


def interrupt(library):
    """Ctrl-C while a call does not return is no finding."""
    with subprocess.Popen([TPAT, "check-plugin", library], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
        check("Ctrl-C", running.returncode == 130 and not out and "Interrupted" in err, (running.returncode, out, err))


def rules():
    """The rows of the table that the checker has, and of the page's."""
    strings = r",\s*".join([r'"((?:[^"\\]|\\.)*)"'] * 3)
    with open(RULES, encoding="utf-8") as file:
        source = file.read()
    rows = [tuple(row) for row in re.findall(r"^RULE\(\w+,\s*" + strings + r"\)", source, re.M)]
    check("all rules are read", len(rows) == source.count("\nRULE("), len(rows))
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    listed = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", page[page.index("| method | rule |"):], re.M)[1:]
    check("docs/check-plugin.md lists the rules", [tuple(row) for row in listed if row[0].strip("-")] == rows,
          [row for row in rows if row not in listed])
    faults_planted = len(FAULTS) + len(FAULTS_V2) + len(FAULTS_CPP_V3) + len(FAULTS_CPP_V2)
    check("docs/check-plugin.md counts the faults", f"plant {faults_planted} faults" in page.replace("\n", " "), faults_planted)
    return {row[1] for row in rows}


def faults(known, libraries, *arguments):
    """Checks a library for each fault; returns the rules that were found broken."""
    broken = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(known, pool.map(lambda fault: run(libraries(fault), *arguments), known)))
    for fault, (call, what) in known.items():
        status, got = results[fault]
        first = got["findings"][0] if got["findings"] else {"call": "", "what": "", "rule": "", "method": "", "fix": ""}
        check(f"fault {fault}", status == 1 and call in first["call"] and what in first["what"] and first["method"] and first["fix"], got)
        if ENDS not in what:
            check(f"fault {fault} does not stop the checker", ENDS not in str(got), got)
        broken |= {finding["rule"] for finding in got["findings"]}
    return broken


def right(folder):
    """Plugins without a fault."""
    status, got = run(build(0, folder), *RUN)
    check("the plugin without a fault", status == 0 and not got["findings"] and not got["notes"] and got["plugins"] == ["Same"], got)
    status, got = run(build(0, folder), "--input", "f32[2,3]", "--host-memory")
    check("one shape", status == 0 and not got["findings"] and not got["notes"], got)
    for number, what in RIGHT.items():
        status, got = run(build(0, folder, number), "--host-memory", "--input", "f32[0:4,3,2,2]")
        check(what, status == 0 and not got["findings"] and len(got["notes"]) == (number == 6), got)
    status, got = run(build(0, folder), "--input", "f16[2,3]")
    check("a type that it does not take", status == 0 and "input 0 as f16" in str(got["notes"]), got)
    status, got = run(build(0, folder), *RUN, "--attribute", "bias=7", "-a", "other=1")
    check("attributes", status == 0 and not got["findings"] and "does not list other" in str(got["notes"]), got)
    for form, version in FORMS.items():
        status, got = run(build_v2(0, form, folder), *RUN, "--tensorrt", version, "-a", "bias=3")
        check(f"V2 without a fault, {version}", status == 0 and not got["findings"] and not got["notes"] and got["plugins"] == ["Same"], got)
        status, got = run(build_v2(0, form, folder, 1), *RUN, "--tensorrt", version)
        check(f"IPluginV2IOExt, {version}", status == 0 and not got["findings"] and "older interface" in str(got["notes"]), got)


def offered(folder):
    """C++ plugins without a fault, by each way of offering a creator, compiled by each compiler."""
    compilers = [compiler for compiler in ("g++", "clang++") if shutil.which(compiler)]
    for i, compiler in enumerate(compilers):
        for form, v2 in ((11, False), (8, True), (10, False), (10, True), (11, True))[:2 if i else None]:
            arguments = *RUN, "--tensorrt", FORMS[form], "-a", "bias=3"
            what = f"C++, {compiler}, TensorRT {FORMS[form]}, {'V2' if v2 else 'V3'}"
            status, got = run(build_cpp(0, form, folder, v2, 1, compiler), *arguments)
            check(what, status == 0 and not got["findings"] and not got["notes"] and got["plugins"] == ["Same"], got)
            status, got = run(build_cpp(0, form, folder, v2, 2, compiler), *arguments)
            check(what + ", registered by a constructor", status == 0 and not got["findings"] and got["plugins"] == ["Same"] and
                  len(got["notes"]) == 1 and "registers it when it is opened" in got["notes"][0], got)
            if form == 11:
                status, got = run(build_cpp(0, form, folder, v2, 3, compiler), *arguments)
                check(what + ", offered twice", status == 1 and "registered it itself" in got["findings"][0]["what"], got)


def linked(folder):
    """Libraries that need TensorRT, or others, which are not there. Returns the rules that were found broken."""
    library, here, broken = os.path.join(folder, "liblinked.so"), os.path.join(folder, "needed"), set()
    os.makedirs(here, exist_ok=True)
    for needed, status_wanted in ((["libnvinfer.so.10"], 0), (["libnvinfer.so.10", "libnvinfer_plugin.so.10", "libnvonnxparser.so.10"], 0),
                                  (["libnvinfer.so.10", "libabsent.so.1"], 1)):
        files = [os.path.join(here, name) for name in needed]
        for file in files:
            subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{os.path.basename(file)}", "-x", "c", "/dev/null", "-o", file], check=True)
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++14", "-w", "-shared", "-fPIC", "-DOFFER=2", os.path.join(HERE, "plugin.cpp"),
                        "-Wl,--no-as-needed", *files, "-o", library], check=True)
        shutil.rmtree(here)
        os.makedirs(here)
        status, got = run(library, *RUN)
        check(f"linked with {needed}", status == status_wanted and (not status or "libabsent.so.1" in got["findings"][0]["what"]), got)
        broken |= {finding["rule"] for finding in got["findings"]}
    # A TensorRT that is there is not asked.
    there = os.path.join(here, "libnvinfer.so.10")
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libnvinfer.so.10", "-x", "c", "-", "-o", there], check=True,
                   input=b"void *getPluginRegistry(void) { return 0; } int getInferLibVersion(void) { return 1; }")
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++14", "-w", "-shared", "-fPIC", "-DOFFER=2", os.path.join(HERE, "plugin.cpp"),
                    "-Wl,--no-as-needed", there, "-o", library], check=True)
    status, got = run(library, *RUN, LD_LIBRARY_PATH=here)
    check("linked with a TensorRT that is there", status == 0 and not got["findings"], got)
    return broken


def user_outputs(folder):
    """Outputs that the user gives: y = 2 x + 1. Returns the rules that were found broken."""
    x = numpy.arange(12, dtype=numpy.float32).reshape(4, 3)
    y = 2 * x + 1
    paths = {name: os.path.join(folder, name + ".npy") for name in ("x", "y", "near", "far", "wide", "whole")}
    for name, value in ("x", x), ("y", y), ("near", y * numpy.float32(1.0001)), ("far", y + 1), ("wide", y.T.copy()), ("whole", y.astype("i4")):
        numpy.save(paths[name], value)
    library, broken = build(0, folder), set()
    given = "--host-memory", "--input", paths["x"], "--expect"
    for name in "y", "near":
        status, got = run(library, *given, paths[name])
        check(f"expected outputs, {name}", status == 0 and not got["findings"] and not got["notes"], got)
    for names, what in ((["far"], "12 of 12 elements of output 0 differ; element 0 is 1 instead of 2"), (["wide"], "is f32[4,3], and f32[3,4] is"),
                        (["whole"], "is f32[4,3], and i32[4,3] is"), (["y", "y"], "it has 1 outputs, and 2 are expected")):
        status, got = run(library, *given, paths[names[0]], *(text for name in names[1:] for text in ("--expect", paths[name])))
        check(f"expected outputs, {names}", status == 1 and len(got["findings"]) == 1 and what in got["findings"][0]["what"], got)
        broken |= {finding["rule"] for finding in got["findings"]}
    status, got = run(build(74, folder), *given, paths["y"])
    check("a fault and expected outputs", status == 1 and "unwritten" in got["findings"][0]["what"], got)
    status, got = run(build_v2(0, 8, folder), *given, paths["y"], "--tensorrt", "8.6")
    check("expected outputs of V2", status == 0 and not got["findings"], got)
    status, got = run(library, "--host-memory", "--expect", paths["y"])
    check("outputs without inputs", status == 2 and "no inputs" in got["error"], got)
    status, got = run(library, *given, os.path.join(folder, "none.npy"))
    check("a file that is missing", status == 3 and "none.npy" in got["error"], got)
    return broken


def times(folder):
    """Times of runs that break no rule, on the processor."""
    library, inputs = build(0, folder), ("--input", "f32[1:4,3]")
    status, got = run(library, *inputs, "--host-memory", "--time")
    known = {(time["inputs"], time["tactic"]) for time in got["times"]}
    check("times of tactics at points", status == 0 and len(known) == len(got["times"]) >= 4 and {i for i, _ in known} >= {"f32[4,3]", "f32[1,3]"} and
          all(time["us"] > 0 and time["plugin"] == "Same" and not time["captured"] and "beside_us" not in time for time in got["times"]), got)
    status, got = run(library, *inputs, "--host-memory", "--beside", library)
    check("times beside another library", status == 0 and got["times"] and all(time["beside_us"] > 0 for time in got["times"]), got)
    status, got = run(build(73, folder), *inputs, "--host-memory", "--time")
    check("no time of wrong results", status == 1 and not got["times"], got)
    status, got = run(library, *inputs, "--host-memory", "--beside", build(28, folder))
    check("a library beside it that fails", status == 3 and "could not be timed beside it" in got["error"], got)
    status, got = run(library, *inputs, "--beside", os.path.join(folder, "none.so"), "--host-memory")
    check("a library beside it that is missing", status == 3 and "none.so" in got["error"], got)
    status, got = run(library, "--time")
    check("times without inputs", status == 2 and "no inputs" in got["error"], got)
    status, got = run(library)
    check("no times", status == 0 and got["times"] == [], got)


def cuda(folder):
    """The way through the CUDA driver."""
    os.makedirs(os.path.join(folder, "driver"), exist_ok=True)
    compile_library("../driver/fake_cuda.c", os.path.join(folder, "driver/libcuda.so.1"))
    driver = {"LD_LIBRARY_PATH": os.path.join(folder, "driver")}
    status, got = run(build(0, folder), *RUN[:2], **driver)
    check("on a device", status == 0 and not got["findings"] and not got["notes"], got)
    for fault in (29, 66, 68, 73, 74, 93, 96):
        status, got = run(build(fault, folder), *RUN[:2], **driver)
        check(f"fault {fault} on a device", status == 1 and FAULTS[fault][1] in got["findings"][0]["what"], got)
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", 8]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Softmax", ["x"], ["y"])], "graph", [x], [y])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), os.path.join(folder, "own.onnx"))
    subprocess.run([TPAT, "build", "own.onnx", "--all", "--arch", "sm_90", "--no-db"], cwd=folder, check=True, capture_output=True)
    status, got = run(os.path.join(folder, "libtpat_own.so"), "--input", "f32[1:4,8]", "--time", **driver)
    check("times of CUDA graphs", status == 0 and got["times"] and not got["notes"] and
          all(time["captured"] and time["us"] > 0 for time in got["times"]), got)
    status, got = run(build(0, folder), "--input", "f32[4,3]", "--time", **driver)
    check("work that a graph does not have", status == 0 and len(got["notes"]) == 1 and "not in the stream" in got["notes"][0] and
          not any(time["captured"] for time in got["times"]), got)
    status, got = run(build(0, folder), *RUN[:2], FAKE_CUDA_BREAKS="1", **driver)
    check("a kernel's fault", status == 1 and "CUDA_ERROR_ILLEGAL_ADDRESS" in got["findings"][0]["what"], got)


def main():
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    broken = faults(FAULTS, lambda fault: build(fault, folder), *RUN)
    for form, version in FORMS.items():
        known = {fault: expected for fault, expected in FAULTS_V2.items() if form != 8 or fault != 45}
        broken |= faults(known, lambda fault, form=form: build_v2(fault, form, folder), *RUN, "--tensorrt", version, "-a", "bias=3")
    for form, v2, known in (11, False, FAULTS_CPP_V3), (8, True, FAULTS_CPP_V2):
        faults(known, lambda fault, form=form, v2=v2: build_cpp(fault, form, folder, v2), *RUN, "--tensorrt", FORMS[form], "-a", "bias=3")
    offered(folder)
    broken |= linked(folder) | user_outputs(folder)
    check("each rule is broken by a fault", broken == rules(), (rules() - broken, broken - rules()))
    right(folder)
    times(folder)
    cuda(folder)
    status, got = run(build(29, folder), "--input", "f32[2,3]")  # whose attachToContext fails, as it may without a GPU
    check("fault 29", "attachToContext" in str(got["findings"]) or "no CUDA device" in str(got["notes"]), got)
    interrupt(build(39, folder))
    own = os.path.join(folder, "libexample_library.so")
    status, got = run("build/tests/rt/libexample_library.so")
    check(own, status == 0 and not got["findings"] and len(got["plugins"]) > 5, got)
    for value in ("i64[1]=3", "i64[]=2"):
        status, got = run("build/tests/rt/libexample_library.so", "--plugin", "Repeat", "--input", "f32[2:4]", "--input", value)
        check(f"a shape input, {value}", status == 0 and got["plugins"] == ["Repeat"], got)
    status, got = run("build/tests/rt/libexample_library.so", "--tensorrt", "8.6")
    check(own + " in TensorRT 8.6", status == 0 and not got["findings"] and len(got["plugins"]) > 5, got)
    status, got = run(build(0, folder), "--plugin", "Nothing")
    check("a name that the library lacks", status == 2 and "no plugin called Nothing" in got["error"], got)
    for arguments, expected in ((["nothing.so"], 3), ([build(0, folder), "--input", "f32"], 2), ([build(0, folder), "--input", "f32[4:2]"], 2), ([build(0, folder), "--input", "i64[2]=3"], 2),
                                ([build(0, folder), "--tensorrt", "8.6"], 1), ([os.path.join(HERE, "plugin.c")], 3)):
        check(str(arguments), run(*arguments)[0] == expected, run(*arguments))
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
