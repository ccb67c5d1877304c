"""ONNX Runtime with tpat's execution provider, for the tests here."""
import os
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

PROVIDER = "TpatExecutionProvider"
NVIDIA = 0x10de


def expect(true, what):
    if not true:
        raise AssertionError(what)


class Host:
    """The library, registered once in a process. `options`: the provider's, for all sessions."""

    def __init__(self, library, **options):
        self.library, self.options = os.path.abspath(library), options
        onnxruntime.set_default_logger_severity(4)
        onnxruntime.register_execution_provider_library("tpat", self.library)
        self.devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER]

    @property
    def on_gpu(self):
        return self.devices[0].device.type == onnxruntime.OrtHardwareDeviceType.GPU

    def close(self):
        self.devices = []
        onnxruntime.unregister_execution_provider_library("tpat")

    def session(self, model, provider_options=None, profile=None, **entries):
        """A session of a path or of bytes; entries are those of its options."""
        options = onnxruntime.SessionOptions()
        options.add_provider_for_devices(self.devices[:1], {**self.options, **(provider_options or {})})
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        if profile:
            options.enable_profiling, options.profile_file_prefix = True, profile
        for key, value in entries.items():
            options.add_session_config_entry(key, value)
        return onnxruntime.InferenceSession(model, options, enable_fallback=False)

    def compiled(self, model):
        """A session of a model that was compiled before; while it is loaded and run there is no C compiler."""
        os.environ.pop("CC", None)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "compiled.onnx")
            first = self.session(model, **{"ep.context_enable": "1", "ep.context_embed_mode": "1", "ep.context_file_path": path})
            if not os.path.exists(path):
                return first  # there is nothing to compile
            os.environ["CC"] = "/none/cc"
            return self.session(path)


def plain(model):
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


def groups_of(session, provider=PROVIDER):
    """The names of the nodes of each group that the provider took."""
    return [[node.name for node in part.get_nodes()] for part in session.get_provider_graph_assignment_info()
            if part.ep_name == provider]


def feeds_of(session, size, seed, given=None):
    """Random values for a session's inputs; open extents are `size`."""
    rng, feeds = numpy.random.default_rng(seed), {}
    for value in session.get_inputs():
        kind = value.type[len("tensor("):-1]
        dtype = numpy.dtype({"float": "f4", "double": "f8", "float16": "f2"}.get(kind, kind))
        shape = [dim if isinstance(dim, int) else size for dim in value.shape]
        drawn = rng.uniform(-1, 1, shape) if dtype.kind == "f" else rng.integers(0, 2, shape)
        feeds[value.name] = numpy.asarray((given or {}).get(value.name, drawn)).astype(dtype)
    return feeds


def made(nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*value) for value in inputs],
                              [helper.make_tensor_value_info(*value) for value in outputs], list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19), helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = 9
    return model.SerializeToString()


def tensors_of(path):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
