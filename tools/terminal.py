#!/usr/bin/env python3
"""Runs the commands of docs/terminal.txt with a model of examples/, and prints what a terminal shows as an SVG picture:
terminal.py TPAT. The text is the programs' own, with their colours; a test compares docs/terminal.svg with it."""
import html
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WIDTH, LINE, CHAR, MARGIN = 106, 18, 7.8, 14  # columns; pixels
COLOURS = {"1": "#ffffff", "31": "#ff8a80", "32": "#8ddb8c", "33": "#e8c66c", "36": "#7fd4e0"}


def runs(line):
    """The pieces of a line with escape sequences: colour or None, bold, text."""
    colour, bold, pieces = None, False, []
    for i, part in enumerate(re.split(r"\x1b\[([0-9;]*)m", line)):
        if i % 2 == 0:
            pieces += [(colour, bold, part)] if part else []
        elif part in ("", "0"):
            colour, bold = None, False
        else:
            for code in part.split(";"):
                bold = bold or code == "1"
                colour = COLOURS[code] if code != "1" or not colour else colour
    return pieces


def session(program):
    tpat, lines = os.path.abspath(program), []
    env = {**os.environ, "CLICOLOR_FORCE": "1", "TPAT_PROGRESS": "0", "COLUMNS": str(WIDTH), "LC_ALL": "C.UTF-8",
           "PATH": os.path.dirname(tpat) + os.pathsep + os.environ["PATH"]}
    for name in ("NO_COLOR", "CLICOLOR", "TPAT_DB", "TPAT_CALIBRATION", "XDG_CACHE_HOME"):
        env.pop(name, None)
    with tempfile.TemporaryDirectory(prefix="tpat-terminal-") as here, open(f"{ROOT}/docs/terminal.txt", encoding="utf-8") as file:
        env["HOME"] = here
        shutil.copy(f"{ROOT}/examples/quantized.onnx", here)
        for command in file.read().splitlines():
            done = subprocess.run(shlex.split(command), cwd=here, env=env, stdin=subprocess.DEVNULL, capture_output=True)
            if done.returncode:
                sys.exit(f"{command}: exit {done.returncode}\n{done.stderr.decode()}")
            lines += [f"\x1b[36m$\x1b[0m \x1b[1m{command}\x1b[0m", *done.stdout.decode().splitlines(), ""]
    return lines[:-1]


def draw(lines):
    width, height = round(WIDTH * CHAR + 2 * MARGIN), LINE * len(lines) + 2 * MARGIN + 22
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
           'aria-label="tpat in a terminal">',
           "<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d6dbe1;"
           "white-space:pre}</style>",
           f'<rect width="{width}" height="{height}" rx="8" fill="#1b2027"/>']
    out += [f'<circle cx="{20 + 18 * i}" cy="18" r="5.5" fill="{fill}"/>' for i, fill in enumerate(("#ed6a5e", "#f4bf4f", "#61c554"))]
    for number, line in enumerate(lines):
        column, y = 0, MARGIN + 22 + LINE * (number + 0.75)
        for colour, bold, text in runs(line):
            if text.strip():
                left = len(text) - len(text.lstrip())
                shown = text.strip()
                # The length is given, so that columns meet in every font.
                out.append(f'<text x="{MARGIN + (column + left) * CHAR:g}" y="{y:g}" textLength="{len(shown) * CHAR:g}"'
                           + (f' style="fill:{colour}"' if colour else "") + (' font-weight="bold"' if bold else "")
                           + f' xml:space="preserve">{html.escape(shown, quote=False)}</text>')
            column += len(text)
    return "\n".join(out + ["</svg>"]) + "\n"


sys.stdout.write(draw(session(sys.argv[1])))
