#!/usr/bin/env python3
"""Writes python/tpat/_calls.py from tpat.h and the headers that are its parts, so that the Python package has the C interface's
structs, enums and calls as they are: python-calls.py HEADER ... OUTPUT."""
import keyword
import re
import sys

SIMPLE = {"int": "c_int", "bool": "c_bool", "double": "c_double", "int64_t": "c_int64", "uint64_t": "c_uint64", "size_t": "c_size_t"}
HINT = {"c_int": "int", "c_bool": "bool", "c_double": "float", "c_int64": "int", "c_uint64": "int", "c_size_t": "int",
        "text": "str | os.PathLike[str] | None", "strings": "Texts", "callback": "Callable[..., object] | None"}
ORDER = ("model", "path", "folder", "library")
NAMED = ("shape", "profile", "value", "name", "input")  # strings that may be dicts


def spelled(name):
    """The name as a keyword of Python: from_ for from."""
    return name + "_" * keyword.iskeyword(name)


def fields_of(body):
    """[(name, kind, struct)]: kind is a ctypes name, text, strings, callback, array, list (of pointers) or one."""
    found = []
    for line in re.sub(r"\s+", " ", body).split(";"):
        line = line.strip()
        if not line:
            continue
        callback = re.match(r"(\w+) \(\*(\w+)\)\((.*)\)$", line)
        if callback:
            # A callback gets the user pointer, then texts or one struct.
            given = [re.search(r"struct (\w+)", p).group(1) if "struct" in p else "text" for p in callback[3].split(",")[1:]]
            found.append((callback[2], "callback", [callback[1] == "bool", *given]))
            continue
        base, names = re.match(r"((?:const )?(?:struct \w+|enum \w+|\w+)) (.*)$", line).groups()
        for name in names.split(","):
            name = name.strip()
            stars, plain = name.count("*"), re.sub(r"\*|\bconst\b", "", name).strip()
            struct = re.search(r"struct (\w+)", base)
            if struct and struct[1] == "tpat_strings":
                kind = "strings"
            elif struct:
                kind = {0: "inside", 1: "one", 2: "list"}[stars]
            elif "char" in base and stars == 1:
                kind = "text"
            elif stars:
                kind = "pointer"
            else:
                kind = "c_int" if base.startswith("enum") else SIMPLE[base]
            found.append((plain, kind, struct[1] if struct else ""))
    for i, (name, kind, struct) in enumerate(found):  # a pointer with a number after it is an array
        if kind == "one" and i + 1 < len(found) and found[i + 1][1] == "c_int" and struct != "tpat_schedule":
            found[i] = name, "array", struct
    return found


def main(*paths):
    *headers, output = paths
    text = ""
    for header in headers:
        with open(header, encoding="utf-8") as file:
            text += re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    structs = {name: fields_of(body) for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, re.M | re.S)
               if name != "tpat_strings"}
    numbers = {}
    for body in re.findall(r"\benum(?: \w+)? \{(.*?)\}", text, re.S):
        value = -1
        for entry in filter(None, (word.strip() for word in body.split(","))):
            name, _, number = (part.strip() for part in entry.partition("="))
            value = int(number, 0) if number else value + 1
            numbers[name] = value
    seeds = dict(re.findall(r"#define (TPAT_\w+_OPTIONS) .*?\.seed = (\d+)", text))
    lines = ['"""The calls of include/tpat/tpat.h. Written by tools/python-calls.py."""', "from __future__ import annotations", "",
             "import os", "from collections.abc import Callable", "", "from ._given import Model, Named, Texts",
             "from ._lib import Result, call", "",
             f"STRUCTS = {structs!r}", f"NUMBERS = {numbers!r}", ""]
    calls = []
    for name, result, options in re.findall(
            r"TPAT_API int tpat_(\w+)\(struct tpat \*t, const struct (\w+) \*\*out,\s*const struct (tpat_\w+_options) \*o\)", text):
        fields = [f for f in structs[options] if f[0] not in ("version", "user", "action")]
        required = next((f for word in ORDER for f in fields if f[0] == word), None) if name != "db" else None
        action = "action: int, " if any(f[0] == "action" for f in structs[options]) else ""
        parts = [f"{required[0]}: {'Model' if required[0] == 'model' else 'str | os.PathLike[str]'}, " if required else "", action]
        rest = [f for f in fields if f is not required and f[1] in HINT]
        default = {"text": "None", "strings": "()", "callback": "None", "c_bool": "False", "c_double": "0.0"}
        seed = seeds.get(f"TPAT_{name.upper()}_OPTIONS", "0")
        keywords = ", ".join(f"{spelled(n)}: {'Named' if k == 'strings' and n in NAMED else HINT[k]} = {seed if n == 'seed' else default.get(k, '0')}" for n, k, _ in rest)
        given = "".join(f"'{f[0]}': {spelled(f[0])}, " for f in ([required] if required else []) + rest)
        given += "'action': action, " if action else ""
        calls.append(name)
        lines += ["", f"def {name}({''.join(parts)}*, {keywords}, cancel: Callable[[], object] | None = None, log: Callable[[str, str], object] | None = None) -> Result:",
                  f'    """tpat_{name}() of tpat.h: returns its {result} as attributes. The keywords are the members of',
                  f"    {options}, which tpat.h describes (`from` is from_, `except` except_). `cancel` is asked often, and returns true to stop;",
                  '    `log` gets a level, "warning" or "note", and a line. Raises tpat.Error."""',
                  f"    given = {{{given.rstrip(', ')}}}",
                  f"    return call({name!r}, {result!r}, {options!r}, cancel, log, given)", ""]  # a short line in tracebacks
    lines += ["", "def inspect(library: str | os.PathLike[str]) -> Result:",
              '    """tpat_inspect() of tpat.h: the contents of a plugin library, which it opens."""',
              "    return call('inspect', 'tpat_inspected', '', None, None, {'library': library})", ""]
    calls.append("inspect")
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + f"\n\n__all__ = CALLS = {calls!r}\n")


main(*sys.argv[1:])
