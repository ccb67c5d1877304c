#!/usr/bin/env python3
"""tpat report: the page is well-formed, names no other file, keeps names from the model as text, and stays short.

    tests/report/report_test.py MODELS FOLDER     needs build/tpat, the models of tests/models.py, and onnx"""
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import onnx
from onnx import TensorProto, helper

TPAT = os.path.abspath("build/tpat")
VOID = {"meta", "br", "hr", "img", "link", "input"}
AWKWARD = "</title><script>alert('1')</script> & \"x\""
failed = passed = 0


class Page(html.parser.HTMLParser):
    """Tags, as a browser's parser sees them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.errors, self.tags, self.ids, self.links, self.attributes = [], [], [], [], [], set()
        self.feed(text)
        self.close()
        self.errors += [f"<{tag}> stays open" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            self.attributes.add(name)
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "action", "data"):
                self.links.append(value)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.errors.append(f"</{tag}> closes another element")


def check(what, holds):
    global failed, passed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print(f"wrong: {what}")


def text_of(tree):
    return "".join(tree.itertext())


def report(model, path, *options):
    """The page's text as XML and as HTML, after the checks that hold for each."""
    done = subprocess.run([TPAT, "report", model, "-o", path, "--no-db", *options], capture_output=True, text=True, timeout=120)
    check(f"{path}: exit {done.returncode}: {done.stderr}", done.returncode == 0)
    with open(path, "rb") as file:
        data = file.read()
    text = data.decode("utf-8")  # strict
    page, tree = Page(text), xml.etree.ElementTree.fromstring(text)
    check(f"{path}: {page.errors[:3]}", not page.errors)
    check(f"{path}: unique ids", len(page.ids) == len(set(page.ids)))
    check(f"{path}: links lead to ids of the page", page.links and all(link[0] == "#" and link[1:] in page.ids for link in page.links))
    check(f"{path}: no script, frame or object", not {"script", "iframe", "object", "embed", "link", "img"} & set(page.tags))
    check(f"{path}: no handlers", not [name for name in page.attributes if name.startswith("on")])
    check(f"{path}: no address", not re.search(r"url\(|@import", text) and
          set(re.findall(r"\w+://[^\"'\s<]+", text)) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"})
    check(f"{path}: dark, and printed", "prefers-color-scheme:dark" in text and 'name="color-scheme"' in text and "@media print" in text and "viewport" in text)
    check(f"{path}: {len(data)} bytes", len(data) < 5_000_000)
    check(f"{path}: nothing else was written", not [name for name in os.listdir(os.path.dirname(path)) if ".html." in name or name[0] == "."])
    hidden, parts = crossings(tree)
    check(f"{path}: edges behind boxes: {hidden[:3]}", not hidden and parts)
    return tree, text


def boxes(tree, number):
    """The titles of the boxes of a picture: 0 before, 1 after."""
    svg = list(tree.iter("{http://www.w3.org/2000/svg}svg"))[number]
    return [text_of(group.find("{http://www.w3.org/2000/svg}title")) for group in svg.iter("{http://www.w3.org/2000/svg}g")]


def crossings(tree):
    """The vertical parts of edges that run behind a box, of all pictures; and the number of vertical parts."""
    parts, found = 0, []
    for svg in tree.iter("{http://www.w3.org/2000/svg}svg"):
        rects = [[int(rect.get(key)) for key in ("x", "y", "width", "height")]
                 for rect in svg.iter("{http://www.w3.org/2000/svg}rect") if "box" in (rect.get("class") or "")]
        for path in svg.iter("{http://www.w3.org/2000/svg}path"):
            at = None
            for letter, numbers in re.findall(r"([MCV])([^MCV]*)", path.get("d") if path.get("class") == "edge" else ""):
                number = [int(n) for n in numbers.split()]
                if letter == "V":
                    parts += 1
                    found += [(at, number) for x, y, w, h in rects if x < at[0] < x + w and y < number[0] and at[1] < y + h]
                    number = [at[0], number[0]]
                at = number[-2:]
    return found, parts


def save(path, nodes, outputs, initializers=(), bytes_of=None):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])
    out = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in outputs]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], out, initializers), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    data = model.SerializeToString()
    for before, after in (bytes_of or {}).items():
        data = data.replace(before, after)
    with open(path, "wb") as file:
        file.write(data)
    return path


models, folder = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
shutil.rmtree(folder)
os.makedirs(folder)
out = os.path.join(folder, "page.html")

tree, text = report(f"{models}/small.onnx", out, "--all")
check("kernels", "__global__" in text_of(tree) and '<span class="tk">' in text)
check("a rule was chosen", "(chosen)" in text_of(tree))
check("the next command builds the same", "tpat build" in text_of(tree) and "--all" in text_of(tree))
report(f"{models}/layers.onnx", out, "--all")
tree, text = report(f"{models}/odd_names.onnx", out, "-t", "Softmax,Relu")
printed = subprocess.run([TPAT, "build", f"{models}/odd_names.onnx", "-t", "Softmax,Relu", "--no-db", "--dry-run", "--json"],
                         capture_output=True, text=True, check=True)
check("as many plugins as regions of the build", f'"regions": {len(re.findall("id=.p[0-9]", text))}' in printed.stdout)

# Graphs inside nodes: all before, and after those that have plugins. The results of tpat verify.
tree, text = report(f"{models}/bodies.onnx", out, "-n", "quantise")
pictures = [text_of(svg.find("{http://www.w3.org/2000/svg}title")) for svg in tree.iter("{http://www.w3.org/2000/svg}svg")]
check(f"pictures of bodies: {pictures}", {"choose/then_branch, before", "choose/else_branch, before", "turns/body, before", "#3/body, before",
                                          "turns/body, after"} <= set(pictures) and "choose/then_branch, after" not in pictures)
after = boxes(tree, pictures.index("turns/body, after"))
check(f"the plugin and what the body captures: {after}", any(b.startswith("quantise") for b in after) and any(b.startswith("mask: ") for b in after))
built = os.path.join(folder, "bodies_tpat.onnx")
subprocess.run([TPAT, "build", f"{models}/bodies.onnx", "-n", "quantise,choose/then_branch/soft", "-o", built, "--arch", "sm_90", "--no-db", "-q"], check=True, capture_output=True)
checks = subprocess.run([TPAT, "verify", built, "--device", "cpu", "--runs", "1", "--json"], capture_output=True, text=True, check=True)
results = os.path.join(folder, "verified.json")
with open(results, "w", encoding="utf-8") as file:
    file.write(checks.stdout)
tree, text = report(f"{models}/bodies.onnx", out, "-n", "quantise,choose/then_branch/soft", "--verified", results)
check("each plugin has its errors", text.count("Verified: agrees") == 2 and "largest error" in text and "2 of 2 plugins agree" in text)
with open(results, "w", encoding="utf-8") as file:
    file.write(checks.stdout.replace('"passed": true', '"passed": false', 1).replace('"differing": 0', '"differing": 7', 1))
tree, text = report(f"{models}/bodies.onnx", out, "-n", "quantise,choose/then_branch/soft,#0", "--verified", results)
check("one differs, one agrees, one is not verified", text.count("DIFFERS from") == 1 and "; 7 of " in text and
      text.count("Verified: agrees") == 1 and text.count("not verified") == 1)
for wrong in ("{}", '{"checks": [{"plugin": "p"}]}', "no json"):
    with open(results, "w", encoding="utf-8") as file:
        file.write(wrong)
    done = subprocess.run([TPAT, "report", f"{models}/bodies.onnx", "-n", "quantise", "--verified", results, "-o", out], capture_output=True, text=True)
    check(f"refused: {wrong}", done.returncode == 2 and "tpat verify" in done.stderr and "verified.json" in done.stderr)

# The tuning curve: trials of an H100, as tpat tune stores them, with names that are markup.
plugin = json.loads(subprocess.run([TPAT, "build", f"{models}/small.onnx", "-t", "Softmax", "--arch", "sm_90", "--no-db", "--json", "-o",
                                    os.path.join(folder, "small_tpat.onnx")], capture_output=True, text=True, check=True).stdout)["plugins"][0]
trials = ['{"tpat_db":1}']
for i, ns in enumerate((5000, 7000, 3000, 4000, 2500)):
    trials.append(json.dumps({"program": plugin["hash"], "name": "p <&>", "shape": "64", "arch": "sm_90", "device": "GPU <b>", "decisions": f"0 rows@4 lanes={i + 1}",
                              "status": "ok", "ns": ns, "spread": 0, "bytes": 1, "floor_ns": 1, "tpat": "0.1.0", "when": f"2026-01-01T00:00:0{i}Z"}))
with open(os.path.join(folder, "trials.txt"), "w", encoding="utf-8") as file:
    file.write("\n".join(trials) + "\n")
database = os.path.join(folder, "trials.db")
subprocess.run([TPAT, "db", "import", os.path.join(folder, "trials.txt"), "--db", database], check=True, capture_output=True)
done = subprocess.run([TPAT, "report", f"{models}/small.onnx", "-t", "Softmax", "-o", out, "--db", database], capture_output=True, text=True)
with open(out, encoding="utf-8") as file:
    tree = xml.etree.ElementTree.fromstring(file.read())
curve = [svg for svg in tree.iter("{http://www.w3.org/2000/svg}svg") if text_of(svg[0]) == "Tuning"]
check("the tuning curve", len(curve) == 1 and "5 schedules measured on GPU <b>" in text_of(tree) and
      "The first trial took 5 us, the best 2.5 us" in text_of(tree))
roof = next(path for path in curve[0] if path.get("class") == "roof").get("d") if curve else ""
check(f"the best falls three times: {roof}", roof.count("V") == 2)

# Names that are markup, and names that are not UTF-8.
nodes = [helper.make_node("Relu", ["x"], ["a"], name=AWKWARD), helper.make_node("Exp", ["a"], ["b"], name="zzzzzz"),
         helper.make_node("Neg", ["b"], ["<y>&"], name="]]>")]
awkward = save(os.path.join(folder, "awkward.onnx"), nodes, ["<y>&"], bytes_of={b"zzzzzz": b"\xff<\xc0&\x01\xed"})
for options in (["-t", "Relu,Exp"], ["--region", "#0,#1,#2"], ["-t", "Neg"]):
    tree, text = report(awkward, out, *options)
    check("the name is text", AWKWARD in text_of(tree) and "]]>" in text_of(tree) and "<y>&" in text_of(tree))
    check("bytes that are not UTF-8 are replaced", "\ufffd<\ufffd&" in text_of(tree))

# A long model: a chain with branches. Runs of other nodes share boxes.
nodes, last = [], "x"
for i in range(400):
    nodes += [helper.make_node("Softmax", [last], [f"s{i}"]), helper.make_node("Relu", [f"s{i}"], [f"r{i}"]),
              helper.make_node("Exp", [f"r{i}"], [f"e{i}"]), helper.make_node("Neg", [f"e{i}"], [f"n{i}"]),
              helper.make_node("Add", [f"n{i}", last], [f"a{i}"])]
    last = f"a{i}"
long = save(os.path.join(folder, "long.onnx"), nodes, [last])
tree, text = report(long, out, "-t", "Softmax")
# Each link: a region's node, a run of three, and the sum. The first sum reads an input, and so belongs to the run.
check("boxes before", len(boxes(tree, 0)) == 2 + 3 * 400 - 1)
check("the run", sum(title.startswith("3 nodes, from") for title in boxes(tree, 1)) == 399)
check("too long for paper", text.count('class="scroll screen"') == 2 == text.count('class="paper"'))
check("its nodes are folded", "<summary>and 395 more</summary>" in text)
check("one plugin for 400 regions", len(re.findall('id="p[0-9]+"', text)) == 1)
every = ",".join(f"#{i}" for i in range(0, 2000))
report(long, out, "--region", every)

# A failure leaves the file as it was; the model itself is never replaced.
with open(out, "w", encoding="utf-8") as file:
    file.write("mine")
done = subprocess.run([TPAT, "report", long, "-n", "nothing", "-o", out], capture_output=True, text=True)
with open(out, encoding="utf-8") as file:
    check("a failure writes nothing", done.returncode == 2 and file.read() == "mine")
size = os.path.getsize(long)
done = subprocess.run([TPAT, "report", long, "-t", "Softmax", "-o", long], capture_output=True, text=True)
check("the model is not replaced", done.returncode == 2 and os.path.getsize(long) == size)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
