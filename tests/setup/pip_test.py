"""tools/pip and tools/model_files.py, against an index and a mirror on this machine: pip_test.py FOLDER. Ends with "N passed, N failed"."""
import contextlib
import functools
import glob
import hashlib
import http.server
import io
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
import zipfile

here = os.path.abspath(sys.argv[1])
os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, "tools")
import model_files  # noqa: E402

shutil.rmtree(here, ignore_errors=True)
os.makedirs(here)
passed = failed = 0


def check(what, condition, seen=""):
    global passed, failed
    passed, failed = passed + bool(condition), failed + (not condition)
    if not condition:
        print(f"FAIL {what}: {seen}")


def serve(tls=None):
    """Serves the folder on a free port; with certificate and key."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=here))
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"


def wheel(name, version, needs=""):
    """Writes a package of one module into the index; returns its file."""
    path = f"{here}/simple/{name.replace('_', '-')}/{name}-{version}-py3-none-any.whl"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr(name + ".py", f"version = {version!r}\n")
        out.writestr(info + "/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" +
                     (f"Requires-Dist: {needs}\n" if needs else ""))
        out.writestr(info + "/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        out.writestr(info + "/RECORD", "")
    return path


def digest(path):
    return hashlib.sha256(open(path, "rb").read()).hexdigest()


def pip(name, sha256, index, **env):
    """Installs NAME 1.0 of that hash with tools/pip; returns whether it is installed, and what was said."""
    pins = f"{here}/{name}.txt"
    with open(pins, "w", encoding="utf-8") as out:
        out.write(f"# Written by hand, for Python 3 everywhere.\n{name}==1.0 --hash=sha256:{sha256}\n")
    target = f"{here}/installed"
    shutil.rmtree(target, ignore_errors=True)
    own = {key: value for key, value in os.environ.items()
           if not re.match(r"PIP_|.*_CA_BUNDLE$|https?_proxy$|no_proxy$|SSL_CERT", key, re.I)}
    ran = subprocess.run(["tools/pip", "install", pins], text=True, capture_output=True,
                         env={**own, "PYTHON": sys.executable, "PIP_TARGET": target, "PIP_INDEX_URL": index, "PIP_NO_CACHE_DIR": "1",
                              "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull, **env})
    installed = os.path.exists(f"{target}/{name}.py")
    check(f"{name}: the exit status agrees", (ran.returncode == 0) == installed, ran.stderr)
    return installed, ran.stderr


def refused(what, words, *arguments, **env):
    installed, said = pip(*arguments, **env)
    check(what, not installed and all(word in said for word in words), said)
    return said


closed = "127.0.0.1:9"  # discard: nothing listens there
plain = serve()
right = digest(wheel("tpat_right", "1.0"))
check("a mirror with the right file", pip("tpat_right", right, plain + "/simple")[0])
refused("another file", ["is not the one that", "tpat_right.txt", right, "Do not use it"], "tpat_right", right.translate({97: 98}),
        plain + "/simple")
refused("no such version", ["has no file for Python", "They are for Python 3 everywhere"], "tpat_right",
        right, plain + "/simple/none")
refused("a package without a hash", ["run tools/pin.py"], "tpat_needs", digest(wheel("tpat_needs", "1.0", "tpat_right")),
        plain + "/simple")
refused("nothing listens", ["cannot reach http://" + closed, "PIP_INDEX_URL"], "tpat_right", right, f"http://{closed}/simple")
said = refused("the proxy", ["the proxy http://" + closed, "https_proxy"], "tpat_right", right, "https://tpat.invalid/simple",
               https_proxy=f"http://user:secret@{closed}")
check("no password is shown", "secret" not in said, said)

certificate, other = [(f"{here}/{name}.pem", f"{here}/{name}-key.pem") for name in ("certificate", "other")]
if shutil.which("openssl"):
    for out, key in (certificate, other):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-out", out, "-keyout", key], check=True, capture_output=True)
    secure = serve(certificate)
    refused("an unknown authority", [f"the certificate of {secure}", "PIP_CERT"], "tpat_right", right, secure + "/simple")
    refused("a file without the authority", ["not in " + other[0], "ignores PIP_CERT"], "tpat_right", right, secure + "/simple",
            PIP_CERT=certificate[0], REQUESTS_CA_BUNDLE=other[0])
    check("PIP_CERT names it", pip("tpat_right", right, secure + "/simple", PIP_CERT=certificate[0])[0])
else:
    secure = None

# Models.
model_files.TABLE = f"{here}/models.tsv"
with open(f"{here}/net.onnx", "w", encoding="utf-8") as out:
    out.write("a model")
with open(model_files.TABLE, "w", encoding="utf-8") as out:
    out.write(f"name\tsha256\tpackage\tpath\nnet.onnx\t{digest(here + '/net.onnx')}\tnone\tnone\n"
              f"other.onnx\t{digest(here + '/net.onnx')}\tnone\tnone\n")
with open(f"{here}/other.onnx", "w", encoding="utf-8") as out:
    out.write("another")


def model(name, mirror):
    """Gets a model; returns the file's bytes or null, and why it was refused."""
    os.environ["TPAT_MIRROR"] = mirror
    target = f"{here}/got/{name}"
    shutil.rmtree(f"{here}/got", ignore_errors=True)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            model_files.main(name, target)
    except SystemExit as end:
        return (open(target, "rb").read() if os.path.exists(target) else None), str(end)
    return open(target, "rb").read(), ""


for mirror in filter(None, (here, plain, plain + "/")):
    check(f"a model from {mirror}", model("net.onnx", mirror)[0] == b"a model")
    got, why = model("other.onnx", mirror)
    check(f"another model from {mirror}", got is None and "has the SHA-256" in why and "not used" in why, why)
for what, mirror, word in [("no folder", here + "/none", "No such file"), ("no file", plain + "/none", "404"),
                           ("nothing listens", f"http://user:secret@{closed}", "TPAT_MIRROR")] + (
                               [("an unknown authority", secure, "SSL_CERT_FILE")] if secure else []):
    got, why = model("net.onnx", mirror)
    check(f"a model: {what}", got is None and word in why and "secret" not in why, why)
got, why = model("none.onnx", here)
check("a model that the table lacks", got is None and "net.onnx, other.onnx" in why, why)

# The pinned files are those that the lists ask for.
for wanted in sorted(glob.glob("tools/requirements/*.in")):
    pins = open(wanted.removesuffix(".in") + ".txt", encoding="utf-8").read()
    for line in open(wanted, encoding="utf-8"):
        if not line.startswith("#"):
            check(f"{wanted}: {line.strip()}", re.search(rf"^{re.escape(line.strip().replace('_', '-'))} \\$", pins, re.M),
                  "tools/pin.py was not run")
    blocks = re.findall(r"^\S+==\S+((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", pins, re.M)
    check(f"{wanted}: a hash for each package", len(blocks) == len(re.findall("==", pins)))
pins = open("tools/requirements/models.txt", encoding="utf-8").read()
for line in open("tools/requirements/models.tsv", encoding="utf-8").read().splitlines()[1:]:
    name, sha256, package, path = line.split("\t")
    check(f"models.tsv: {name}", f"\n{package}==" in pins and re.fullmatch("[0-9a-f]{64}", sha256), line)

print(f"{passed} passed, {failed} failed" + ("" if secure else ", 7 skipped"))
sys.exit(failed > 0)
