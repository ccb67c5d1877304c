#!/usr/bin/env python3
"""Writes tools/requirements/*.txt from *.in next to them: the packages that pip chooses, with all that they need, and the SHA-256 of
the wheel for each Python and machine. tools/setup installs nothing else. Run it after a change of *.in; it needs PyPI and pip.

pip decides for the Python that runs it which packages a package needs. Those of the files here need the same ones in all of PYTHONS;
if that changes, tools/setup fails in one of them with pip's message "must have their versions pinned"."""
import glob
import json
import os
import re
import subprocess
import sys

PYTHONS = ("3.11", "3.12", "3.13", "3.14")  # Debian 12, Ubuntu 24.04, Debian 13, Ubuntu 26.04
MACHINES = ("x86_64", "aarch64")
GLIBC = range(17, 37)  # up to Debian 12's
ALONE = ("models.in",)  # files of which nothing runs, so that they need no other package


def chosen(path, python, machine):
    """What pip installs there: {(name, version): SHA-256}."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--report", "-", "--ignore-installed",
               "--disable-pip-version-check", "--only-binary=:all:", "--ignore-requires-python", "--python-version", python, "--target",
               "none", "-r", path, "--platform", f"manylinux2014_{machine}"]
    for minor in GLIBC:
        command += ["--platform", f"manylinux_2_{minor}_{machine}"]
    if os.path.basename(path) in ALONE:
        command.append("--no-deps")
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"pin: {path} for Python {python} on {machine}: {ran.stderr.strip().splitlines()[-1]}")
    found = {}
    for one in json.loads(ran.stdout)["install"]:
        name = re.sub(r"[-_.]+", "-", one["metadata"]["name"]).lower()
        found[name, one["metadata"]["version"]] = one["download_info"]["archive_info"]["hashes"]["sha256"]
    return found


def pin(path):
    hashes = {}
    for python in PYTHONS:
        for machine in MACHINES:
            for package, digest in chosen(path, python, machine).items():
                hashes.setdefault(package, set()).add(digest)
    names = [name for name, _ in hashes]
    for name in names:
        if names.count(name) > 1:
            versions = " and ".join(version for other, version in hashes if other == name)
            sys.exit(f"pin: {path}: {name} is {versions} for different Pythons. Name a version in the file that fits all.")
    lines = [f"# Written by tools/pin.py from {os.path.basename(path)}, for Python {PYTHONS[0]} to {PYTHONS[-1]} on "
             f"{' and '.join(MACHINES)}."]
    for (name, version), digests in sorted(hashes.items()):
        lines.append(" \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{digest}" for digest in sorted(digests))]))
    out = path.removesuffix(".in") + ".txt"
    with open(out + ".new", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.replace(out + ".new", out)
    print(out)


folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "requirements")
for source in sys.argv[1:] or sorted(glob.glob(folder + "/*.in")):
    pin(source)
