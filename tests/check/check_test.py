#!/usr/bin/env python3
"""tpat check-plugin on a small plugin with one planted fault at a time, and on libraries without faults.

    tests/check/check_test.py FOLDER     needs build/tpat and cc"""
import json
import os
import signal
import subprocess
import sys
import time

TPAT = os.path.abspath("build/tpat")
HERE = os.path.dirname(os.path.abspath(__file__))
# Parts of each fault's first finding: the call, and its result.
FAULTS = {
    1: ("createPlugin(kBUILD)", "PLUGIN_V2"), 2: ("getCapabilityInterface(kCORE)", "2.0"), 3: ("getCapabilityInterface(kBUILD)", "(null)"),
    4: ("destructor", "ends the process"), 6: ("clone", "returns null"), 7: ("clone", "the object itself"),
    8: ("clone", "another number of outputs"), 9: ("getCapabilityInterface(kBUILD)", "returns null"),
    10: ("getCapabilityInterface(kCORE)", "another object"), 11: ("getPluginName", "returns null"), 12: ("getPluginName", "empty"),
    13: ("getPluginName", "differ"), 14: ("getPluginVersion", "another text"), 15: ("getPluginVersion", "returns null"),
    16: ("getPluginNamespace", "returns null"), 17: ("build", "configurePlugin"), 18: ("build", "getOutputDataTypes"),
    19: ("build", "getOutputShapes"), 20: ("build", "supportsFormatCombination"), 21: ("getNbOutputs", "impossible"),
    22: ("getNbOutputs", "another number"), 23: ("getValidTactics", "not positive"), 24: ("getValidTactics", "twice"),
    25: ("getValidTactics", "fails"), 26: ("getNbTactics", "impossible"), 27: ("getFormatCombinationLimit", "below 1"),
    28: ("build", "setTactic"), 30: ("getFieldsToSerialize", "one name"),
    31: ("getFieldsToSerialize", "no data"), 32: ("getFieldsToSerialize", "no name"), 33: ("getFieldsToSerialize", "unknown type"),
    34: ("getFieldsToSerialize", "returns null"), 35: ("getInterfaceInfo", "CREATOR_V1"), 36: ("createPlugin(kRUNTIME)", "returns null"),
    37: ("createPlugin(kBUILD)", "ends the process"), 38: ("getFieldsToSerialize", "has others"), 40: ("getFieldNames", "impossible"),
    41: ("loading", "setLoggerFinder"), 42: ("getCreators", "two creators"), 43: ("loading", "no plugin"),
    44: ("unloading", "ends the process"), 45: ("getFieldsToSerialize", "no name"),
}
RIGHT = {1: "fields of four bits are packed", 2: "the context has an allocator"}
passed = failed = 0


def check(what, holds, why):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print(f"FAIL {what}: {why}")


def run(*arguments):
    """The exit status and the findings."""
    done = subprocess.run([TPAT, "check-plugin", *arguments, "--json"], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else {"findings": [], "error": done.stderr}


def build(fault, folder, right=0):
    library = os.path.join(folder, f"libfault{fault}_{right}.so")
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O1", "-w", "-shared", "-fPIC", f"-DFAULT={fault}", f"-DRIGHT={right}",
                    f"-I{HERE}/../../include", os.path.join(HERE, "plugin.c"), "-o", library], check=True)
    return library


def interrupt(library):
    """Ctrl-C while a call does not return is no finding."""
    with subprocess.Popen([TPAT, "check-plugin", library], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
        check("Ctrl-C", running.returncode == 130 and not out and "Interrupted" in err, (running.returncode, out, err))


def main():
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    status, got = run(build(0, folder), "--input", "f32[2,3]")
    check("the plugin without a fault", status == 0 and not got["findings"] and got["plugins"] == ["Same"], got)
    for fault, (call, what) in FAULTS.items():
        status, got = run(build(fault, folder), "--input", "f32[2,3]")
        first = got["findings"][0] if got["findings"] else {"call": "", "what": "", "rule": ""}
        check(f"fault {fault}", status == 1 and call in first["call"] and what in first["what"] and first["rule"], got)
        if "ends the process" not in what:
            check(f"fault {fault} does not stop the checker", "ends the process" not in str(got), got)
    for right in RIGHT:
        status, got = run(build(0, folder, right), "--input", "f32[2,3]")
        check(RIGHT[right], status == 0 and not got["findings"], got)
    status, got = run(build(29, folder), "--input", "f32[2,3]")  # whose attachToContext fails, as it may without a GPU
    check("fault 29", "attachToContext" in str(got["findings"]) or "no CUDA device" in str(got["notes"]), got)
    interrupt(build(39, folder))
    own = os.path.join(folder, "libexample_library.so")
    status, got = run("build/tests/rt/libexample_library.so")
    check(own, status == 0 and not got["findings"] and len(got["plugins"]) > 5, got)
    status, got = run(build(0, folder), "--plugin", "Nothing")
    check("a name that the library lacks", status == 1 and "no plugin is called Nothing" in got["findings"][0]["what"], got)
    for arguments, expected in ((["nothing.so"], 3), ([build(0, folder), "--input", "f32"], 2), ([build(0, folder), "--tensorrt", "8.6"], 4),
                                ([os.path.join(HERE, "plugin.c")], 1)):
        check(str(arguments), run(*arguments)[0] == expected, run(*arguments))
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
