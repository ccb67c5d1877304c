"""The wheel's contents: wheel_test.py FILE.whl. The hashes of its record, its metadata, its licences, and a list of what is linked
into its library, which says what the library's bytes say. Its modules run in the oldest Python that the metadata names."""
import ast
import base64
import email
import hashlib
import json
import sys
import zipfile

wheel = zipfile.ZipFile(sys.argv[1])
names = wheel.namelist()
info = next(name for name in names if name.endswith("/METADATA")).rsplit("/", 1)[0]
record = [line.rsplit(",", 2) for line in wheel.read(info + "/RECORD").decode().splitlines()]
assert sorted(name for name, _, _ in record) == sorted(names) and len(set(names)) == len(names), "the record names each file once"
for name, digest, size in record:
    data = wheel.read(name)
    right = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    assert name == info + "/RECORD" or (digest, size) == ("sha256=" + right, str(len(data))), name

metadata = email.message_from_bytes(wheel.read(info + "/METADATA"))
assert (metadata["Name"], metadata["License-Expression"]) == ("tpat", "Apache-2.0"), metadata.items()
assert metadata["Description-Content-Type"] == "text/markdown" and "pip install" in metadata.get_payload()
assert metadata.get_all("License-File") == ["LICENSE", "copyright"]
for name in metadata.get_all("License-File"):
    assert wheel.read(f"{info}/licenses/{name}"), name

GENERIC_LATER = {"list", "dict", "tuple", "set", "type"}  # Python 3.9 can index these and the classes of collections.abc


def indexed(tree):
    """Classes that an older Python cannot index, outside of annotations, which are not evaluated."""
    annotations = [part for node in ast.walk(tree) for part in (getattr(node, "annotation", None), getattr(node, "returns", None)) if part]
    skipped = {id(part) for annotation in annotations for part in ast.walk(annotation)}
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "collections.abc"
                for alias in node.names}
    return [node.value.id for node in ast.walk(tree) if isinstance(node, ast.Subscript) and id(node) not in skipped
            and isinstance(node.value, ast.Name) and node.value.id in imported | GENERIC_LATER]


assert metadata["Requires-Python"] == ">=3.8"
for name in names:
    if name.endswith(".py"):
        tree = ast.parse(wheel.read(name), name, feature_version=(3, 8))
        assert not indexed(tree), f"{name}: Python 3.8 cannot index {indexed(tree)}"

document, library = json.loads(wheel.read(info + "/sboms/tpat.cdx.json")), wheel.read("tpat/libtpat.so")
assert (document["bomFormat"], document["metadata"]["component"]["version"]) == ("CycloneDX", metadata["Version"])
archives = {part["name"].rsplit("/", 1)[-1] for one in document["components"] for part in one["components"]}
for archive, text in {"libsqlite3.a": b"database disk image is malformed", "libz.a": b"incorrect header check",
                      "libprotobuf-c.a": b"protobuf-c/protobuf-c.c"}.items():
    assert (archive in archives) == (text in library), f"{archive} is{' not' * (archive not in archives)} listed, but the library says otherwise"
notice = wheel.read(info + "/licenses/copyright").decode()
assert all(f"  {one['name']} {one['version']}\n" in notice for one in document["components"])
print(f"{len(names)} passed, 0 failed")
