"""tpat.Session and tpat.run on arrays and DLPack tensors: whole_models.py MODELS."""
import ctypes
import os
import sys
import tempfile
import threading
import unittest

import ml_dtypes
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import tpat
from tpat import _dlpack

MODELS = os.path.abspath(sys.argv.pop(1))
DEVICES = "interpreter", "cpu", "emulator"


class Tensor:
    """Another package's tensor: only the protocol. It lives as long as its capsules, as a producer must see to."""
    freed = 0

    def __init__(self, array, device=(1, 0), code=None, strides=True):
        self.array, self.device, self.code, self.strides = array, device, code, strides

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        a, kept = self.array, []
        n = max(a.ndim, 1)
        shape = (ctypes.c_int64 * n)(*a.shape)
        strides = (ctypes.c_int64 * n)(*(s // a.itemsize for s in a.strides))
        code = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}[a.dtype.kind] if self.code is None else self.code

        class Managed(ctypes.Structure):
            _fields_ = [("t", _dlpack._Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

        managed = Managed(t=_dlpack._Tensor(a.ctypes.data - 8, 1, 0, a.ndim, code, 8 * a.itemsize, 1, shape,
                                            strides if self.strides else None, 8))
        destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

        def free(_capsule):
            Tensor.freed += 1
            ALIVE.discard(key)

        key = (a, shape, strides, managed, destructor(free))
        key = Kept(key)
        ALIVE.add(key)
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes, new.restype = [ctypes.c_void_p, ctypes.c_char_p, destructor], ctypes.py_object
        return new(ctypes.addressof(managed), b"dltensor", key.things[-1])


class Kept:
    def __init__(self, things):
        self.things = things


ALIVE = set()


class WholeModels(unittest.TestCase):
    def setUp(self):
        self.here = tempfile.TemporaryDirectory(prefix="tpat-python-")
        self.addCleanup(self.here.cleanup)
        self.model = os.path.join(MODELS, "small.onnx")
        weights = {w.name: numpy_helper.to_array(w) for w in onnx.load(self.model).graph.initializer}
        product = next(w for w in weights.values() if w.ndim == 2)
        bias = next(w for w in weights.values() if w.ndim == 1)

        def reference(x):
            hidden = numpy.maximum(x.astype(numpy.float64) @ product + bias, 0)
            e = numpy.exp(hidden - hidden.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True)
        self.reference = reference

    def write(self, nodes, inputs, outputs, opset=19, constants=()):
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
                                  [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs], list(constants))
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        made.ir_version = 9
        path = os.path.join(self.here.name, "net.onnx")
        onnx.save(made, path)
        return path

    def rows(self, n):
        return numpy.random.default_rng(n).standard_normal((n, 4)).astype(numpy.float32)

    def check(self, session, x, given=None):
        y = session.run({"x": x if given is None else given})["y"]
        self.assertEqual((y.dtype, y.shape), (numpy.float32, (len(x), 3)))
        numpy.testing.assert_allclose(y, self.reference(x), rtol=1e-4, atol=1e-5)

    def test_extents(self):
        for device in DEVICES:
            with tpat.Session(self.model, device=device) as session:
                self.assertEqual(session.inputs, [tpat.TensorInfo("x", "f32", (None, 4))])
                self.assertEqual(session.outputs, [tpat.TensorInfo("y", "f32", (None, 3))])
                for n in (1, 7, 2, 64):
                    self.check(session, self.rows(n))

    def test_layouts(self):
        """Elements are those of the array, however it lies in memory."""
        x = self.rows(6)
        wide = numpy.zeros((6, 8), numpy.float32)
        wide[:, ::2] = x
        still = x.copy()
        still.flags.writeable = False
        with tpat.Session(self.model) as session:
            for given in (numpy.asfortranarray(x), wide[:, ::2], numpy.ascontiguousarray(x[::-1])[::-1], x.astype(">f4"), still,
                          x.tolist(), [list(row) for row in x]):
                self.check(session, x, given)

    def test_dlpack(self):
        x = self.rows(6)
        still = x.copy()
        still.flags.writeable = False
        wide = numpy.zeros((6, 8), numpy.float32)
        wide[:, ::2] = x
        with tpat.Session(self.model) as session:
            before = Tensor.freed
            for tensor in (Tensor(x), Tensor(still), Tensor(wide[:, ::2]), Tensor(x, (3, 0)), Tensor(x, strides=False)):
                self.check(session, x, tensor)
            self.assertEqual((Tensor.freed - before, len(ALIVE)), (5, 0))
            with self.assertRaises(tpat.UsageError) as raised:
                session.run({"x": Tensor(x, (2, 0))})
            self.assertEqual((raised.exception.tensor, raised.exception.advice), ("x", "Copy it to the CPU."))
            self.assertRaises(TypeError, session.run, {"x": Tensor(x, code=77)})

    def test_results_are_new(self):
        with tpat.Session(self.model) as session:
            x = self.rows(3)
            first = session.run({"x": x})["y"]
            kept = first.copy()
            session.run({"x": self.rows(5)})
        numpy.testing.assert_array_equal(first, kept)
        numpy.testing.assert_array_equal(numpy.from_dlpack(first), kept)

    def test_types(self):
        """Each type through a model that only copies, and one that computes."""
        for dtype in ("float32", "float64", "float16", "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"):
            x = numpy.array([[0, 1, 2], [3, 4, 5]], dtype)
            kind = helper.np_dtype_to_tensor_dtype(x.dtype)
            path = self.write([helper.make_node("Transpose", ["x"], ["y"], name="turn"), helper.make_node("Identity", ["x"], ["same"])],
                              [("x", kind, ["N", 3])], [("y", kind, [3, "N"]), ("same", kind, ["N", 3])])
            for device in "interpreter", "cpu":
                out = tpat.run(path, {"x": x}, device=device)
                self.assertEqual(out["y"].dtype, x.dtype)
                numpy.testing.assert_array_equal(out["y"], x.T)
                numpy.testing.assert_array_equal(out["same"], x)
                self.assertFalse(numpy.shares_memory(out["same"], x))

    def test_scalar_and_empty(self):
        path = self.write([helper.make_node("Add", ["x", "s"], ["y"], name="add")],
                          [("x", TensorProto.FLOAT, ["N"]), ("s", TensorProto.FLOAT, [])], [("y", TensorProto.FLOAT, ["N"])])
        with tpat.Session(path) as session:
            numpy.testing.assert_array_equal(session.run([[1, 2], 10])["y"], [11, 12])
            numpy.testing.assert_array_equal(session.run([numpy.float32([3]), numpy.float32(4)])["y"], [7])
            self.assertEqual(session.run([numpy.zeros(0, numpy.float32), 1])["y"].shape, (0,))
            numpy.testing.assert_array_equal(session.run([[5], Tensor(numpy.array(1, numpy.float32))])["y"], [6])

    def test_bfloat16(self):
        """As ml_dtypes, as DLPack's bfloat, or as its bits."""
        path = self.write([helper.make_node("Add", ["x", "x"], ["y"], name="add")],
                          [("x", TensorProto.BFLOAT16, ["N"])], [("y", TensorProto.BFLOAT16, ["N"])])
        x = numpy.array([1, -2.5, 0.125], ml_dtypes.bfloat16)
        bits = x.view(numpy.uint16)
        with tpat.Session(path) as session:
            for given in (x, bits, Tensor(bits, code=4), [1, -2.5, 0.125]):
                y = session.run({"x": given})["y"]
                self.assertEqual(y.dtype, ml_dtypes.bfloat16)
                numpy.testing.assert_array_equal(y.astype(numpy.float32), [2, -5, 0.25])

    def test_phases(self):
        """Rows, then repeats, are as many as integers say that the model computes: runs with other integers, the same, other shapes."""
        nodes = [helper.make_node("ReduceMax", ["labels"], ["rows"], name="rows", keepdims=0),
                 helper.make_node("Unsqueeze", ["rows", "zero"], ["rows1"]),
                 helper.make_node("Concat", ["rows1", "rest"], ["target"], axis=0),
                 helper.make_node("Reshape", ["x", "target"], ["table"], name="shape"),
                 helper.make_node("ReduceSum", ["table", "one"], ["sums"], keepdims=0),
                 helper.make_node("Cast", ["sums"], ["whole"], to=TensorProto.INT64),
                 helper.make_node("ReduceMax", ["whole"], ["times"], keepdims=0),
                 helper.make_node("Unsqueeze", ["times", "zero"], ["times1"]),
                 helper.make_node("Tile", ["sums", "times1"], ["y"], name="repeat")]
        constants = [numpy_helper.from_array(numpy.array([x]), name) for name, x in (("zero", 0), ("one", 1), ("rest", -1))]
        path = self.write(nodes, [("x", TensorProto.FLOAT, ["N"]), ("labels", TensorProto.INT64, ["M"])],
                          [("y", TensorProto.FLOAT, ["K"]), ("sums", TensorProto.FLOAT, ["R"])], constants=constants)
        for device in ("interpreter", "emulator"):
            given = os.path.join(self.here.name, "given.npz")
            numpy.savez(given, x=numpy.float32([0.25, 1, 1.5, 0.5]), labels=numpy.array([2, 1]))
            ran = tpat.run(path, input=[given], device=device, output=given)
            self.assertEqual((ran.phases, ran.nodes), (2, len(nodes)))  # no node runs twice
            with numpy.load(given) as results:
                numpy.testing.assert_array_equal(results["sums"], [1.25, 2])
                numpy.testing.assert_array_equal(results["y"], [1.25, 2] * 2)
            with tpat.Session(path, device=device) as session:
                for n, labels in (12, [1, 3, 2]), (12, [3, 1, 2]), (12, [4, 2]), (8, [2, 1]), (8, [2, 2]):
                    x = (numpy.arange(n) % 4 / 4).astype(numpy.float32)
                    sums = x.reshape(max(labels), -1).sum(1)
                    given = {"x": Tensor(x) if n == 8 else x, "labels": labels}
                    ran = session.run(given)
                    numpy.testing.assert_array_equal(ran["sums"], sums)
                    numpy.testing.assert_array_equal(ran["y"], numpy.tile(sums, int(sums.max())))
                with self.assertRaises(tpat.ModelError):
                    session.run({"x": x, "labels": [3]})
                numpy.testing.assert_array_equal(session.run(given)["y"], numpy.tile(sums, int(sums.max())))

    def test_types_without_arrays(self):
        path = self.write([helper.make_node("Identity", ["x"], ["y"])], [("x", TensorProto.UINT4, [4])], [("y", TensorProto.UINT4, [4])], 21)
        with self.assertRaises(tpat.UnsupportedError) as raised:
            tpat.Session(path)
        self.assertIn("u4", raised.exception.message)

    def test_errors(self):
        x = self.rows(2)
        with tpat.Session(self.model) as session:
            for wrong, says in (({"z": x}, 'has no input "z"'), ({}, 'the input "x" is not given'), ([], "has 1 inputs"),
                                ({"x": x.astype(numpy.float64)}, "is f32; the given tensor is f64"),
                                ({"x": x[:, :3]}, "extent 1 of input"), ({"x": x[0]}, "has 2 axes; the given tensor has 1"),
                                ({"x": numpy.array([["a"] * 4])}, "which tpat lacks")):
                with self.assertRaises(tpat.UsageError) as raised:
                    session.run(wrong)
                self.assertIn(says, raised.exception.message)
                self.check(session, x)
        with self.assertRaises(tpat.UsageError):
            session.run({"x": x})
        session.close()
        with self.assertRaises(tpat.ModelError):
            tpat.Session(os.path.join(self.here.name, "missing.onnx"))
        with self.assertRaises(TypeError):
            tpat.Session(3)

    def test_options(self):
        with tpat.Session(self.model, shape="x:2x4") as session:
            self.assertEqual(session.inputs[0].shape, (2, 4))
            self.check(session, self.rows(2))
            with self.assertRaises(tpat.UsageError):
                session.run({"x": self.rows(3)})

    def test_run(self):
        x = self.rows(3)
        numpy.testing.assert_allclose(tpat.run(self.model, {"x": x}, device="interpreter")["y"], self.reference(x), rtol=1e-4, atol=1e-5)
        numpy.testing.assert_allclose(tpat.run(self.model, [x])["y"], self.reference(x), rtol=1e-4, atol=1e-5)
        self.assertEqual(tpat.run(self.model, shape="x:2x4", device="interpreter").outputs, ["y: f32[2,3]"])

    def test_cancel(self):
        stop, lines = [True], []
        with tpat.Session(self.model, cancel=lambda: stop[0], log=lambda *line: lines.append(line)) as session:
            with self.assertRaises(tpat.Cancelled):
                session.run({"x": self.rows(3)})
            stop[0] = False
            self.check(session, self.rows(3))
            once = len(lines)
            self.check(session, self.rows(4))
        self.assertTrue(once and all(level == "note" and text.endswith(": compiled") for level, text in lines))
        self.assertEqual(len(lines), once)
        with tpat.Session(self.model, cancel=lambda: 1 // 0) as session:
            self.assertRaises(ZeroDivisionError, session.run, {"x": self.rows(3)})

    def test_threads(self):
        """Runs of one session wait for each other, and each gets its own results."""
        wrong = []
        with tpat.Session(self.model) as session:
            def work(n):
                for _ in range(20):
                    x = self.rows(n)
                    if not numpy.allclose(session.run({"x": x})["y"], self.reference(x), atol=1e-5):
                        wrong.append(n)
            threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 7)]
            [t.start() for t in threads]
            [t.join() for t in threads]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    ran = unittest.main(exit=False, verbosity=1).result
    failed = len(ran.failures) + len(ran.errors)
    print(f"{ran.testsRun - failed} passed, {failed} failed")
    sys.exit(failed > 0)
