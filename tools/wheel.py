#!/usr/bin/env python3
"""Packs build/python/tpat, which has the library, into a wheel: wheel.py VERSION FOLDER LINKED. LINKED is a folder with what
tools/sbom.py wrote: the list of what is linked statically, and its licences. The tag names the oldest glibc that has all symbols
which the library needs. The same files give the same bytes."""
import base64
import glob
import hashlib
import os
import platform
import re
import subprocess
import sys
import zipfile

version, folder, linked = sys.argv[1:]
symbols = subprocess.run(["readelf", "--version-info", "--wide", "build/python/tpat/libtpat.so"], check=True, capture_output=True,
                         text=True).stdout
glibc = max(tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols))
tag = f"py3-none-manylinux_{glibc[0]}_{glibc[1]}_{platform.machine()}"
info = f"tpat-{version}.dist-info"
files = {os.path.relpath(path, "build/python"): open(path, "rb").read()
         for path in sorted(glob.glob("build/python/tpat/**", recursive=True)) if os.path.isfile(path) and "__pycache__" not in path}
licences = {"LICENSE": "LICENSE", "copyright": os.path.join(linked, "copyright")}
files[info + "/METADATA"] = (f"Metadata-Version: 2.4\nName: tpat\nVersion: {version}\nSummary: CUDA kernels and TensorRT plugins for "
                             "operators of ONNX models\nLicense-Expression: Apache-2.0\n" +
                             "".join(f"License-File: {name}\n" for name in licences) +
                             "Requires-Python: >=3.8\nClassifier: Operating System :: POSIX :: Linux\n"
                             "Description-Content-Type: text/markdown\n\n").encode() + open("docs/python.md", "rb").read()
files[info + "/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: tools/wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
for name, path in licences.items():
    files[f"{info}/licenses/{name}"] = open(path, "rb").read()
files[info + "/sboms/tpat.cdx.json"] = open(os.path.join(linked, "tpat.cdx.json"), "rb").read()
record = "".join("{},sha256={},{}\n".format(name, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(),
                                            len(data)) for name, data in files.items())
files[info + "/RECORD"] = (record + info + "/RECORD,,\n").encode()
os.makedirs(folder, exist_ok=True)
path = os.path.join(folder, f"tpat-{version}-{tag}.whl")
with zipfile.ZipFile(path + ".new", "w", zipfile.ZIP_DEFLATED) as wheel:
    for name, data in files.items():
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr, entry.compress_type = 0o100644 << 16, zipfile.ZIP_DEFLATED
        wheel.writestr(entry, data)
os.replace(path + ".new", path)
print(path)
