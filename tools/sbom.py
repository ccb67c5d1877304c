#!/usr/bin/env python3
"""Lists what a linker put into binaries: sbom.py VERSION FOLDER NAME=MAP ...

Writes FOLDER/tpat.cdx.json (CycloneDX 1.5) and FOLDER/copyright. MAP is what `ld -Map` wrote for the binary NAME. It names the
archives whose members were linked, and the start files of the compiler. dpkg names their packages and versions. The time is
SOURCE_DATE_EPOCH; the same packages give the same bytes."""
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import urllib.parse
import uuid

DOC = "/usr/share/doc"


def die(text):
    sys.exit("sbom: " + text)


def linked(path):
    """The files outside the sources that the map says are in the binary: archives with a member in it, and single objects."""
    text = open(path, encoding="utf-8", errors="replace").read()
    members = re.search(r"^Archive member included.*?\n\n(.*?)\n\n", text, re.M | re.S)
    if not members:
        die(f"{path}: no list of archive members. It must be written by GNU ld: link with -fuse-ld=bfd.")
    archives = re.findall(r"^(/\S+\.a)\(", members.group(1), re.M)
    objects = re.findall(r"^LOAD (/\S+\.o)$", text, re.M)
    return {os.path.realpath(found) for found in archives + objects}


def query(*argv):
    try:
        return subprocess.run(argv, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    except FileNotFoundError:
        die(f"{argv[0]} is missing. The versions of the linked libraries are those of Debian packages: run this on Debian or Ubuntu.")
    except subprocess.CalledProcessError:
        return None


def package_of(path):
    """Names the installed package of a file. Its list of files may say /lib for /usr/lib."""
    for name in (path, path.removeprefix("/usr")):
        found = query("dpkg-query", "-S", name)
        if found:
            return found.split(": ")[0].split(",")[0]
    die(f"{path} was linked statically, but belongs to no Debian package: its version and licence are unknown. "
        "Install the library's -dev package, or remove the copy.")


def licences(copyright_text):
    """The short names in a machine-readable copyright file, without those of the packaging; none if it is prose."""
    if not copyright_text.startswith("Format:"):
        return []
    names = set()
    for paragraph in re.split(r"\n\s*\n", copyright_text):
        files = re.search(r"^Files:\s*(.*(?:\n[ \t].*)*)", paragraph, re.M)
        name = re.search(r"^License:[ \t]*(\S.*)$", paragraph, re.M)
        if files and name and not all(one.startswith("debian/") for one in files.group(1).split()):
            names.add(name.group(1).strip())
    return sorted(names)


def component(package, paths, distribution):
    fields = query("dpkg-query", "-W", "-f", "${Package}\n${Version}\n${Architecture}\n${source:Package}\n${source:Version}\n${Homepage}",
                   package).split("\n")
    name, version, architecture, source, source_version, homepage = fields
    try:
        text = open(f"{DOC}/{name}/copyright", encoding="utf-8", errors="replace").read()
    except OSError as error:
        die(f"{DOC}/{name}/copyright: {error.strerror}. The licence of what is linked statically must go with it: reinstall {name}.")
    upstream = source if source_version == version else f"{source}@{source_version}"
    purl = f"pkg:deb/{distribution[0]}/{name}@{urllib.parse.quote(version, safe='.-~')}?" + urllib.parse.urlencode(
        {"arch": architecture, "distro": "-".join(distribution), "upstream": upstream})
    names = licences(text) or [f"see {name} in the file copyright"]
    found = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "licenses": [{"license": {"name": one}} for one in names],
        "purl": purl,
        "properties": [{"name": "debian:source", "value": source}, {"name": "debian:source-version", "value": source_version}],
        "components": [{"type": "file", "name": path,
                        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(open(path, "rb").read()).hexdigest()}]}
                       for path in sorted(paths)],
    }
    if homepage:
        found["externalReferences"] = [{"type": "website", "url": homepage}]
    return found, source, text


def bill(version, components, distribution):
    """The CycloneDX document. Its serial number follows from its contents."""
    tpat = f"pkg:generic/tpat@{version}"
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {"type": "application", "bom-ref": tpat, "name": "tpat", "version": version, "purl": tpat,
                          "licenses": [{"license": {"id": "Apache-2.0"}}]},
            "properties": [{"name": "tpat:built-on", "value": " ".join(distribution)}],
        },
        "components": components,
        "dependencies": [{"ref": tpat, "dependsOn": [one["bom-ref"] for one in components]}],
    }
    if os.environ.get("SOURCE_DATE_EPOCH"):
        when = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
        document["metadata"]["timestamp"] = when.strftime("%Y-%m-%dT%H:%M:%SZ")
    document["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True)).urn
    return json.dumps(document, indent=1) + "\n"


def notice(version, binaries, components, texts):
    """The file copyright: tpat's own licence, and the texts that come with what is linked statically, one of each source."""
    names = ", ".join(binaries)
    parts = [f"tpat {version}\n\nCopyright: the authors of tpat\nLicense: Apache-2.0\n\nThe text of the licence is in LICENSE next to "
             "this file or, on Debian, in\n/usr/share/common-licenses/Apache-2.0.\n\n"
             f"Parts of these packages are linked into {names}.\nThe files copyright of their packages follow.\n\n"]
    parts += [f"  {one['name']} {one['version']}\n" for one in components]
    for source, (name, text) in sorted(texts.items()):
        parts.append(f"\n{'=' * 78}\n{source}, from {DOC}/{name}/copyright\n{'=' * 78}\n\n{text.rstrip()}\n")
    return "".join(parts)


def write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write(text)
    os.replace(path + ".new", path)


def main(version, folder, *maps):
    binaries = dict(one.split("=", 1) for one in maps)
    files = {}
    for path in set().union(*map(linked, binaries.values())):
        files.setdefault(package_of(path), set()).add(path)
    release = dict(re.findall(r'^(ID|VERSION_ID)="?([^"\n]*)', open("/etc/os-release", encoding="utf-8").read(), re.M))
    distribution = [one for one in (release.get("ID"), release.get("VERSION_ID")) if one]
    components, texts = [], {}
    for package in sorted(files):
        found, source, text = component(package, files[package], distribution)
        components.append(found)
        texts.setdefault(source, (found["name"], text))
    os.makedirs(folder, exist_ok=True)
    write(os.path.join(folder, "tpat.cdx.json"), bill(version, components, distribution))
    write(os.path.join(folder, "copyright"), notice(version, binaries, components, texts))


main(*sys.argv[1:])
