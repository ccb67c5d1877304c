"""The Python package against the models of tests/models.py: package.py MODELS."""
import html.parser
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import tpat
import tpat.cuda

MODELS = os.path.abspath(sys.argv.pop(1))


class Package(unittest.TestCase):
    def setUp(self):
        self.here = tempfile.TemporaryDirectory(prefix="tpat-python-")
        self.addCleanup(self.here.cleanup)
        self.model = shutil.copy(os.path.join(MODELS, "small.onnx"), self.here.name)

    def path(self, name):
        return os.path.join(self.here.name, name)

    def write(self, nodes, inputs, outputs, initializers=()):
        graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        made.ir_version = 8
        onnx.save(made, self.path("net.onnx"))
        return self.path("net.onnx")

    def test_list(self):
        found = tpat.list(self.model)
        self.assertEqual([n.op_type for n in found.node], ["MatMul", "Add", "Relu", "Softmax"])
        self.assertEqual((found.inputs, found.node[0].graph, found.nodes), (["x: f32[N,4]"], "", 4))
        self.assertTrue(all(n.taken for n in found.node))

    def test_source_folder(self):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python")
        done = subprocess.run([sys.executable, "-c", "import tpat"], cwd=source, capture_output=True, text=True,
                              env={"PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("make python", done.stderr)
        self.assertNotIn("circular", done.stderr)

    def test_why(self):
        schedule = tpat.list(self.model, why=["probabilities"]).why[0]
        self.assertEqual(schedule.what, "probabilities")
        self.assertTrue(any(rule.chosen for stage in schedule.stage for rule in stage.rule))

    def test_build_verify_inspect(self):
        seen, passes = [], []
        built = tpat.build(self.model, node=["probabilities"], arch="sm_90", progress=lambda p: seen.append(p.stage),
                           dump=lambda name, text: passes.append((name, text)))
        self.assertEqual(built.output, self.path("small_tpat.onnx"))
        self.assertEqual([p.nodes for p in built.plugin], [["probabilities"]])
        self.assertIn("compile", seen)
        self.assertIn("lower", [name for name, _ in passes])
        checked = tpat.verify(built.output, device="cpu", runs=1)
        self.assertEqual((checked.failed, [c.passed for c in checked.check]), (0, [True]))
        self.assertEqual(tpat.inspect(built.libraries[0]).plugin[0].name, built.plugin[0].name)
        self.assertEqual(tpat.doctor(self.here.name, look=True).problems, 0)

    def test_report_in_a_notebook(self):
        built = tpat.build(self.model, node=["probabilities", "product"], arch="sm_90")
        checked = tpat.verify(built.output, device="cpu", runs=1)
        report = tpat.report(self.model, self.path("page.html"), node=["probabilities", "product"], verified=checked)
        self.assertEqual((report.path, report.plugins, report.bytes), (self.path("page.html"), 2, os.path.getsize(self.path("page.html"))))
        self.assertEqual(report.html.count("Verified: agrees"), 2)
        shown = report._repr_html_()  # what a notebook calls
        frame = html.parser.HTMLParser()
        frame.handle_starttag = lambda tag, attributes: self.assertEqual((tag, dict(attributes)["srcdoc"]), ("iframe", report.html))
        frame.feed(shown)
        self.assertIn('sandbox=""', shown)
        self.assertTrue(tpat.report(self.model, type="Softmax", no_db=True).path.endswith("small.html"))
        for result in (built, checked):
            table = result._repr_html_()
            self.assertIn("<table>", table)
            self.assertIn(built.plugin[0].name, table)
        with self.assertRaises(TypeError):
            tpat.report(self.model, wrong=1)
        with self.assertRaises(tpat.UsageError):
            tpat.report(self.model, node="missing")
        self.assertNotIn("IPython", sys.modules)

    def test_error_fields(self):
        with self.assertRaises(tpat.UsageError) as raised:
            tpat.build(self.model, node=["nothing"], arch="sm_90")
        self.assertIn("nothing", raised.exception.message)
        self.assertEqual(raised.exception.code, -2)
        with self.assertRaises(tpat.Error) as raised:
            tpat.list(self.path("missing.onnx"))
        self.assertEqual(raised.exception.file, self.path("missing.onnx"))

    def test_wrong_values(self):
        with self.assertRaises(TypeError):
            tpat.list(3)
        with self.assertRaises(ValueError):
            tpat.list("a\0b")
        with self.assertRaises(AttributeError):
            tpat.list(self.model).nothing
        for options, message in (({"arch": 90}, "arch takes a text or a list of texts, not 90"),
                                 ({"type": {"x": 1}}, "type takes a text or a list of texts, not a dict"),
                                 ({"shape": {"x": 2.5}}, r"shape\['x'\] takes a shape such as .*, not 2.5"),
                                 ({"profile": {"x": (1, 8, 32)}}, r"profile\['x'\] takes three shapes"),
                                 ({"value": {"x": None}}, r"value\['x'\] takes a number or a list of numbers, not None"),
                                 ({"tactics": "two"}, "tactics takes a whole number, not 'two'"),
                                 ({"split": "yes"}, "split takes True or False, not 'yes'"),
                                 ({"output": 3}, "output takes a text or a path, not 3")):
            with self.assertRaisesRegex(TypeError, message):
                tpat.build(self.model, node="activation", **options)

    def test_given_as_objects(self):
        model = onnx.load(self.model)
        with self.assertRaisesRegex(tpat.UsageError, "Give output."):
            tpat.build(model, node="activation")
        extents = numpy.array([2, 4])
        self.assertEqual(tpat.list(model, shape={"x": ("B", numpy.int64(4))}).inputs, ["x: f32[B,4]"])
        self.assertEqual(tpat.list(model, shape={"x": extents}).inputs, ["x: f32[2,4]"])
        built = tpat.build(model, node="activation", arch="sm_90", output=self.path("object.onnx"), tactics=numpy.int32(1),
                           split=numpy.bool_(False), name={"activation": "Own"},
                           profile={"x": {"min": (1, 4), "opt": extents, "max": "8x4"}})
        self.assertEqual([plugin.name for plugin in built.plugin], ["Own"])
        self.assertIn("--minShapes=x:1x4 --optShapes=x:2x4 --maxShapes=x:8x4", built.deploy)
        y = tpat.run(model, {"x": numpy.ones((2, 4), numpy.float32)})["y"]
        self.assertEqual(y.shape, (2, 3))

    def test_cancel(self):
        event = threading.Event()
        event.set()
        with self.assertRaises(tpat.Cancelled) as raised:
            tpat.build(self.model, all=True, arch="sm_90", cancel=event.is_set)
        self.assertEqual((raised.exception.code, raised.exception.message), (-6, "Interrupted."))
        self.assertEqual(os.listdir(self.here.name), ["small.onnx"])

    def test_cancel_at_each_question(self):
        """Whenever a build is cancelled, by `cancel` or by `progress`, no file is left."""
        nodes, asked = ["product", "probabilities"], []
        os.mkdir(self.path("out"))
        tpat.build(self.model, node=nodes, arch="sm_90", output=self.path("out/net.onnx"), workers=1, cancel=lambda: asked.append(1))
        shutil.rmtree(self.path("out"))
        self.assertGreater(len(asked), 4)
        for stop_at in range(1, len(asked) + 1):
            count = []
            with self.assertRaises(tpat.Cancelled):
                tpat.build(self.model, node=nodes, arch="sm_90", workers=1, cancel=lambda: count.append(1) or len(count) == stop_at)
            self.assertEqual(os.listdir(self.here.name), ["small.onnx"])
        for stage in "program", "compile", "write":
            with self.assertRaises(tpat.Cancelled):
                tpat.build(self.model, node=nodes, arch="sm_90", progress=lambda p: p.stage == stage)
            self.assertEqual(os.listdir(self.here.name), ["small.onnx"])

    def test_log_and_progress(self):
        lines, seen = [], []
        built = tpat.build(self.model, node=["product", "probabilities"], arch="sm_90", log=lambda *line: lines.append(line),
                           progress=lambda p: seen.append((p.stage, p.done, p.all)))
        self.assertEqual(seen[0], ("program", 0, 2))
        self.assertEqual(seen[-1], ("write", 0, 1))
        self.assertEqual([text for level, text in lines if level == "warning"], built.warnings)
        for plugin in built.plugin:
            self.assertIn(("note", f"{plugin.name}: schedule {plugin.decisions}, by the cost model"), lines)
        self.assertEqual(sum(" for sm_90" in text for level, text in lines if level == "note"), 2)
        with self.assertRaises(ZeroDivisionError):
            tpat.build(self.model, node="product", arch="sm_90", output=self.path("other.onnx"), log=lambda level, text: 1 // 0)
        self.assertFalse(os.path.exists(self.path("other.onnx")))

    def test_cancel_verify(self):
        built = tpat.build(self.model, node=["product", "probabilities"], arch="sm_90")
        seen = []
        with self.assertRaises(tpat.Cancelled) as raised:
            tpat.verify(built.output, device="cpu", checked=lambda so_far: seen.append(so_far.checks), cancel=lambda: bool(seen))
        self.assertEqual((seen, raised.exception.result.checks, raised.exception.result.interrupted), ([1], 1, True))

    def test_cancel_tune(self):
        found = tpat.tune(self.model, node="probabilities", device="cpu", db=self.path("t.db"), seconds=60, workers=1, cancel=lambda: True)
        self.assertTrue(found.interrupted)

    def test_exception_of_a_callback(self):
        with self.assertRaises(ZeroDivisionError):
            tpat.build(self.model, all=True, arch="sm_90", progress=lambda p: 1 // 0)
        self.assertEqual(os.listdir(self.here.name), ["small.onnx"])

    def test_threads(self):
        found = []
        threads = [threading.Thread(target=lambda: found.append(tpat.list(self.model).nodes)) for _ in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(found, [4] * 8)

    def test_pipeline(self):
        output, libraries = tpat.cuda.pipeline(self.model, ["activation", "probabilities"], False, {}, self.path("out.onnx"),
                                               arch="sm_90")
        self.assertEqual(output, self.path("out.onnx"))
        self.assertEqual(len(libraries), 2)
        self.assertTrue(all(os.path.exists(path) for path in libraries))

    def test_one_hot(self):
        """TPAT's example: a OneHot by its name, with a plugin name."""
        depth = numpy_helper.from_array(numpy.array(7, numpy.int64), "depth")
        values = numpy_helper.from_array(numpy.array([0, 1], numpy.float32), "values")
        model = self.write([helper.make_node("OneHot", ["x", "depth", "values"], ["y"], name="test_onehot_dynamic", axis=-1)],
                           [helper.make_tensor_value_info("x", TensorProto.INT64, ["B", 3])],
                           [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["B", 3, 7])], [depth, values])
        names = tpat.onnx2plugin(model, self.path("out.onnx"), node_names=["test_onehot_dynamic"],
                                 plugin_name_dict={"test_onehot_dynamic": "tpat_onehot"}, dynamic_bs="false", arch="sm_90")
        self.assertEqual(names, ["tpat_onehot"])
        self.assertEqual([n.op_type for n in onnx.load(self.path("out.onnx")).graph.node], ["tpat_onehot"])
        self.assertEqual(tpat.verify(self.path("out.onnx"), device="cpu").failed, 0)

    def test_gather_nd_dynamic_batch(self):
        """TPAT's example of a dynamic batch: GatherND by its type."""
        indices = numpy_helper.from_array(numpy.array([[[0]]], numpy.int64), "indices")
        model = self.write([helper.make_node("Expand", ["indices", "shape"], ["wide"], name="wide"),
                            helper.make_node("GatherND", ["x", "i"], ["y"], name="gather", batch_dims=1)],
                           [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["B", 5]),
                            helper.make_tensor_value_info("i", TensorProto.INT64, ["B", 2, 1])],
                           [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["B", 2]),
                            helper.make_tensor_value_info("wide", TensorProto.INT64, [4, 1, 1])],
                           [indices, numpy_helper.from_array(numpy.array([4, 1, 1], numpy.int64), "shape")])
        names = tpat.onnx2plugin(model, self.path("out.onnx"), node_types=["GatherND"], dynamic_bs=True, min_bs=1, max_bs=16,
                                 opt_bs=8, arch="sm_90")
        self.assertEqual(len(names), 1)
        self.assertEqual(tpat.verify(self.path("out.onnx"), device="cpu").failed, 0)

    def test_wrong_batch(self):
        for wrong in ({"dynamic_bs": "maybe"}, {"dynamic_bs": True, "min_bs": 9, "opt_bs": 8}):
            with self.assertRaises(tpat.UsageError):
                tpat.onnx2plugin(self.model, self.path("out.onnx"), node_names=["activation"], **wrong)


if __name__ == "__main__":
    ran = unittest.main(exit=False, verbosity=1).result
    failed = len(ran.failures) + len(ran.errors)
    print(f"{ran.testsRun - failed} passed, {failed} failed")
    sys.exit(failed > 0)
