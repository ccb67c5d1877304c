"""Compares tpat.cdx.json and copyright in a folder with the packages that are installed, and with the binaries: sbom_test.py FOLDER
BINARY ..., and what tools/sbom.py says of maps that it cannot use."""
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

folder, *binaries = sys.argv[1:]
document = json.load(open(os.path.join(folder, "tpat.cdx.json"), encoding="utf-8"))
notice = open(os.path.join(folder, "copyright"), encoding="utf-8").read()
assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
assert document["metadata"]["timestamp"] == "2023-11-14T22:13:20Z", document["metadata"]  # SOURCE_DATE_EPOCH of packages.sh

# Each package is installed in that version, the files are those that were linked, and the licence is there.
sources = {}
for one in document["components"]:
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", one["name"]], check=True, capture_output=True, text=True).stdout
    assert one["version"] == version, (one["name"], one["version"], version)
    assert f"  {one['name']} {version}\n" in notice, one["name"]
    for file in one["components"]:
        assert hashlib.sha256(open(file["name"], "rb").read()).hexdigest() == file["hashes"][0]["content"], file
    source = {p["name"]: p["value"] for p in one["properties"]}["debian:source"]
    sources.setdefault(source, set()).update(os.path.basename(file["name"]) for file in one["components"])
    assert f"\n{source}, from /usr/share/doc/" in notice, source
refs = [one["bom-ref"] for one in document["components"]]
assert document["dependencies"] == [{"ref": document["metadata"]["component"]["bom-ref"], "dependsOn": refs}]

# A sentence of each library, which the linker cannot leave out, is in the binaries if and only if the list has its archive.
data = b"".join(open(path, "rb").read() for path in binaries)
for archive, text in {"libsqlite3.a": b"database disk image is malformed", "libz.a": b"incorrect header check",
                      "libjansson.a": b"unable to decode byte", "libprotobuf-c.a": b"protobuf-c/protobuf-c.c"}.items():
    listed = any(archive in files for files in sources.values())
    assert listed == (text in data), (archive, "is listed" if listed else "is not listed", "but the binaries say otherwise")
assert "THE SOFTWARE IS PROVIDED" in notice and "Petri Lehtinen" in notice

# Maps of another linker, and archives of no package, are refused with a reason.
with tempfile.TemporaryDirectory() as here:
    own = os.path.join(here, "libown.a")
    open(own, "wb").close()
    for text, says in (("VMA LMA Size Align Out In Symbol\n", "GNU ld"),
                       (f"Archive member included to satisfy reference by file (symbol)\n\n{own}(a.o)\n\n\n", "no Debian package")):
        with open(os.path.join(here, "map"), "w", encoding="utf-8") as out:
            out.write(text)
        ran = subprocess.run([sys.executable, "tools/sbom.py", "0", here, f"tpat={here}/map"], capture_output=True, text=True)
        assert ran.returncode == 1 and re.search(says, ran.stderr), (ran.returncode, ran.stderr)
        assert not os.path.exists(os.path.join(here, "tpat.cdx.json"))
