#!/usr/bin/env python3
"""Writes docs/faq.md to standard output: the error texts of src/engine/tensorrt/tensorrt_errors.def, by section."""
import os
import re

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
TABLE = "src/engine/tensorrt/tensorrt_errors.def"
STRING = r'"((?:[^"\\]|\\.)*)"'
ROW = re.compile(r"^ERROR\(\s*" + r",\s*".join([STRING] * 4) + r"\s*\)$|^/\* ---- (.*)\. \*/$", re.M)
WIDTH = 120
HEAD = """# Frequent errors

This page lists error texts of TensorRT and of programs that run it, with cause and fix. `tpat doctor LOG` finds them in a log;
`tpat fix MODEL LOG` also replaces the nodes that the log names. An ellipsis stands for any text. The table is
`src/engine/tensorrt/tensorrt_errors.def`; `make docs` writes this page.

If a log contains several errors, start with the first one: later ones often follow from it."""


def wrapped(text):
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > WIDTH:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines)


def plain(text):
    return re.sub(r"[<>*_\[\]]", lambda m: "\\" + m.group(0), text)


def main():
    with open(TABLE, encoding="utf-8") as file:
        source = file.read()
    rows = [match.groups() for match in ROW.finditer(source)]
    assert len(rows) - sum(bool(row[4]) for row in rows) == source.count("\nERROR("), "a row has another form"
    unescape = re.compile(r"\\(.)")
    out = [HEAD]
    for text, origin, cause, fix, section in rows:
        if section:
            out.append(f"## {section}")
            continue
        text, origin, cause, fix = (unescape.sub(r"\1", cell) for cell in (text, origin, cause, fix))
        text = text.replace("*", " ... ").replace("  ", " ").strip()
        ticks = "``" if "`" in text else "`"  # Markdown's code with a backquote in it
        out.append(f"**{ticks}{text}{ticks}** ({origin})")
        out.append(wrapped(f"{plain(cause)} *Fix:* {plain(fix)}"))
    print("\n\n".join(out))


main()
