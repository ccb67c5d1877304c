#!/usr/bin/env python3
"""Loads plugin libraries into the real TensorRT-RTX and checks what it finds there. Needs no GPU.

    pip install tensorrt-rtx-cu13-libs tensorrt-rtx-cu13-bindings
    tools/rtx-load.py LIBRARY.so ...
    TENSORRT=tensorrt_lean_bindings tools/rtx-load.py LIBRARY.so ...     another module, here that of the packages
                                                                        tensorrt-lean-cu13-libs and -bindings

Every creator that the library's own table lists must be there after load_library, under its name, version and namespace;
make a plugin that says the same; and be gone after deregister_library, so that the library loads a second time. Then, in a
new process that only opens the library (as trtexec --staticPlugins does), the creators must be there as well, and
load_library must work on top of that. Of several libraries, every two must be there together, loaded and opened in either
order. Ends with "N passed, N failed" and exit code 1 on any difference.
"""

import ctypes
import importlib
import itertools
import json
import os
import subprocess
import sys

passed = failed = 0


def check(holds, what):
    global passed, failed
    if holds:
        passed += 1
    else:
        failed += 1
        print("failed:", what)


def load_tensorrt():
    name = os.environ.get("TENSORRT", "tensorrt_rtx")
    try:
        return importlib.import_module(name)
    except ImportError:
        return importlib.import_module("tensorrt_rtx_bindings" if name == "tensorrt_rtx" else name)


class Table(ctypes.Structure):
    """The first members of struct tpat_rt_library."""

    _fields_ = [("version", ctypes.c_uint32), ("model", ctypes.c_char_p), ("generator", ctypes.c_char_p),
                ("plugin", ctypes.c_void_p), ("plugins", ctypes.c_int32)]


class CreatorInterface(ctypes.Structure):
    """A creator as C sees it: the slots of IPluginCreatorV3One."""

    _fields_ = [("table", ctypes.POINTER(ctypes.c_void_p))]


def creators_of(path):
    """(name, version, namespace) of each creator, asked from the library itself in a process without TensorRT."""
    library = ctypes.CDLL(path)
    library.getCreators.restype = ctypes.POINTER(ctypes.POINTER(CreatorInterface))
    count = ctypes.c_int32(0)
    creators = library.getCreators(ctypes.byref(count))
    found = []
    for i in range(count.value):
        texts = []
        for slot in (6, 7, 8):
            method = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(creators[i].contents.table[slot])
            texts.append(method(ctypes.cast(creators[i], ctypes.c_void_p)).decode())
        found.append(tuple(texts))
    table = Table.in_dll(library, "tpat_library")
    print(f"{os.path.basename(path)}: {table.plugins} plugins of {table.model.decode()}, made by {table.generator.decode()}")
    return found, table.plugins


def new_logger(trt):
    class Logger(trt.ILogger):
        def __init__(self):
            trt.ILogger.__init__(self)
            self.lines = []

        def log(self, severity, message):
            if severity <= trt.ILogger.WARNING:
                self.lines.append(message)

    return Logger()


def registered(registry):
    return {(c.name, c.plugin_version, c.plugin_namespace) for c in registry.all_creators}


def check_plugins(trt, registry, want, logger):
    have = registered(registry)
    for key in want:
        check(key in have, f"{key} is registered")
        name, version, namespace = key
        creator = registry.get_creator(name, version, namespace)
        check(creator is not None, f"get_creator{key}")
        if creator is None:
            continue
        plugin = creator.create_plugin(name, trt.PluginFieldCollection([]), trt.TensorRTPhase.BUILD)
        check(plugin is not None, f"{name}: create_plugin")
        if plugin is None:
            continue
        core = plugin.get_capability_interface(trt.PluginCapabilityType.CORE)
        build = plugin.get_capability_interface(trt.PluginCapabilityType.BUILD)
        runtime = plugin.get_capability_interface(trt.PluginCapabilityType.RUNTIME)
        check(core and build and runtime, f"{name}: capabilities")
        for text, value in (("plugin_name", name), ("plugin_version", version), ("plugin_namespace", namespace)):
            if hasattr(core, text):
                check(getattr(core, text) == value, f"{name}: {text} of the plugin is {getattr(core, text)!r}")
    check(not logger.lines, f"no line in the log, but: {logger.lines}")


def check_log(trt, registry, want, logger):
    """A plugin that cannot be created logs the reason to TensorRT's log: here, an engine without the program's hash."""
    for name, version, namespace in want:
        fields = trt.PluginFieldCollection([])
        try:
            plugin = registry.get_creator(name, version, namespace).create_plugin(name, fields, trt.TensorRTPhase.RUNTIME)
        except Exception:  # the bindings turn null into an exception
            plugin = None
        # The lean runtime's registry has no logger.
        said = any(f"tpat plugin {name}: createPlugin: " in line for line in logger.lines) if hasattr(trt, "Builder") else plugin is None
        check(said == (plugin is None), f"{name}: an engine without a hash is refused with a line in the log: {logger.lines}")
        logger.lines.clear()


def load_twice(trt, path, want):
    logger = new_logger(trt)
    builder = trt.Builder(logger) if hasattr(trt, "Builder") else None  # the registry uses the first builder's logger
    logger.lines.clear()
    registry = trt.get_plugin_registry()
    before = registered(registry)
    for _ in range(2):
        handle = registry.load_library(path)
        check(handle is not None, f"load_library: {logger.lines}")
        if handle is None:
            break
        check_plugins(trt, registry, want, logger)
        check_log(trt, registry, want, logger)
        registry.deregister_library(handle)
        check(registered(registry) == before, "deregister_library leaves what was there before")
    del builder


def open_only(trt, path, want):
    """The library registers itself when it is opened."""
    logger = new_logger(trt)
    builder = trt.Builder(logger) if hasattr(trt, "Builder") else None
    logger.lines.clear()
    registry = trt.get_plugin_registry()
    before = registered(registry)
    library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    check_plugins(trt, registry, want, logger)
    handle = registry.load_library(path)
    check(handle is not None, f"load_library after the library registered itself: {logger.lines}")
    if handle is not None:
        check_plugins(trt, registry, want, logger)
        registry.deregister_library(handle)
    check(registered(registry) == before, "after that nothing is left")
    check(not logger.lines, f"no line in the log, but: {logger.lines}")
    del library, builder


def both(trt, paths, want):
    """Two libraries at the same time: loaded, then opened; `want`: the creators of both."""
    logger = new_logger(trt)
    builder = trt.Builder(logger) if hasattr(trt, "Builder") else None
    logger.lines.clear()
    registry = trt.get_plugin_registry()
    before = registered(registry)
    handles = [registry.load_library(path) for path in paths]
    check(None not in handles, f"load_library of both: {logger.lines}")
    check_plugins(trt, registry, want, logger)
    for handle in handles:
        if handle is not None:
            registry.deregister_library(handle)
    check(registered(registry) == before, "deregister_library leaves what was there before")
    libraries = [ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL) for path in paths]
    check_plugins(trt, registry, want, logger)
    del libraries, builder


def late(trt_loader, path, want):
    """Opened before TensorRT, the library registers itself on request."""
    library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    check(library.tpat_rt_register() == 0, "there is no TensorRT yet")
    trt = trt_loader()
    logger = new_logger(trt)
    builder = trt.Builder(logger) if hasattr(trt, "Builder") else None
    logger.lines.clear()
    check(not set(want) & registered(trt.get_plugin_registry()), "nothing is registered yet")
    check(library.tpat_rt_register() == 1, "tpat_rt_register() finds TensorRT")
    check_plugins(trt, trt.get_plugin_registry(), want, logger)
    check(library.tpat_rt_register() == 1, "and not twice")
    check(not logger.lines, f"no line in the log, but: {logger.lines}")
    del builder


def check_told(path):
    """A library that was never registered logs this when the program ends."""
    code = f"import ctypes; ctypes.CDLL({path!r}); import {load_tensorrt().__name__} as trt; trt.get_plugin_registry()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    check("its plugins were never registered" in done.stderr, f"it says that it was opened too early: {done.stderr}")


def in_process(part, paths, want):
    """Runs a part in a new process; returns its counts."""
    done = subprocess.run([sys.executable, __file__, "--part", part, json.dumps(want), *paths], capture_output=True, text=True)
    lines = done.stdout.strip().splitlines()
    counts = lines[-1].split() if lines and lines[-1].endswith("failed") else None
    print("\n".join(lines[:-1] if counts else lines + [done.stderr]), end="\n" if len(lines) > 1 or not counts else "")
    if counts and done.returncode in (0, 1):
        return int(counts[0]), int(counts[2])
    print(f"failed: {part} of {paths}: exit code {done.returncode}")
    return 0, 1


def main():
    if len(sys.argv) > 4 and sys.argv[1] == "--part":
        part, paths = sys.argv[2], sys.argv[4:]
        want = [tuple(key) for key in json.loads(sys.argv[3])]
        trt = load_tensorrt() if part != "late" else None
        if part == "late":
            late(load_tensorrt, paths[0], want)
        elif part == "both":
            both(trt, paths, want)
        else:
            (load_twice if part == "load" else open_only)(trt, paths[0], want)
        print(f"{passed} passed, {failed} failed")
        sys.exit(failed != 0)
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    paths = [os.path.abspath(path) for path in sys.argv[1:]]
    creators = []
    for path in paths:
        found, plugins = creators_of(path)
        check(len(found) == plugins and plugins > 0, f"getCreators gives {len(found)} creators for {plugins} plugins")
        creators.append(found)
    check_told(paths[0])
    counts = [(passed, failed)]
    for path, want in zip(paths, creators):
        counts += [in_process(part, [path], want) for part in ("load", "open", "late")]
    for i, j in itertools.permutations(range(len(paths)), 2):
        counts.append(in_process("both", [paths[i], paths[j]], creators[i] + creators[j]))
    total = [sum(column) for column in zip(*counts)]
    print(f"{total[0]} passed, {total[1]} failed")
    sys.exit(total[1] != 0)


if __name__ == "__main__":
    main()
