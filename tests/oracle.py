"""ONNX Runtime as the tests' oracle: session(model) gives the same results on every processor.

Where a processor has AVX2 or AVX-512 and no VNNI, ONNX Runtime multiplies bytes with signed bytes in 16-bit pairs that
saturate. Its own way out, session.x64quantprecision, is a step of its optimiser and holds for constant weights alone. So
signed right operands become unsigned here, with 128 added to them and to their zero point: the products of unsigned bytes
are exact everywhere, and the model computes the same."""
import numpy
import onnx
import onnx.inliner
import onnxruntime
from onnx import helper, numpy_helper

# (domain, operator): the right operands of its products and their zero points, by input index.
PRODUCTS = {
    ("", "MatMulInteger"): [(1, 3)],
    ("", "ConvInteger"): [(1, 3)],
    ("", "QLinearMatMul"): [(3, 5)],
    ("", "QLinearConv"): [(3, 5)],
    ("com.microsoft", "MatMulIntegerToFloat"): [(1, 5)],
    ("com.microsoft", "DynamicQuantizeMatMul"): [(1, 3)],
    ("com.microsoft", "QGemm"): [(3, 5)],
    ("com.microsoft", "QAttention"): [(1, 7)],
    ("com.microsoft", "QLinearConv"): [(3, 5)],
    ("com.microsoft", "NhwcQLinearConv"): [(3, 5)],
    ("com.microsoft", "DynamicQuantizeLSTM"): [(1, 9), (2, 11)],
}
OFFSET = "oracle_128"  # the 128 of i32, a tensor of the graph


def unsigned(graph, constants, name, new, nodes):
    """Makes `new`, of u8, of the i8 tensor `name`: a constant of a constant, or by the nodes that it appends."""
    if name in constants:
        value = numpy_helper.to_array(constants[name]).astype(numpy.int32) + 128
        graph.initializer.append(numpy_helper.from_array(value.astype(numpy.uint8), new))
        return new
    wide, moved = new + "_wide", new + "_moved"
    nodes += [helper.make_node("Cast", [name], [wide], to=onnx.TensorProto.INT32),
              helper.make_node("Add", [wide, OFFSET], [moved]),
              helper.make_node("Cast", [moved], [new], to=onnx.TensorProto.UINT8)]
    return new


def types_of(graph, outer):
    """The element types of the graph's tensors, by name."""
    infos = [*graph.input, *graph.output, *graph.value_info]
    types = {info.name: info.type.tensor_type.elem_type for info in infos if info.type.HasField("tensor_type")}
    return {**outer, **types, **{tensor.name: tensor.data_type for tensor in graph.initializer}}


def rewrite(graph, types, constants):
    """Makes the products of the graph and its inner graphs exact; returns the number changed. `types` and `constants`: those
    of the enclosing graphs."""
    types, nodes, found = types_of(graph, types), [], 0
    constants = {**constants, **{tensor.name: tensor for tensor in graph.initializer}}
    for node in list(graph.node):
        for inner in graphs_of(node):
            found += rewrite(inner, types, constants)
        for weight, zero in PRODUCTS.get((node.domain.replace("ai.onnx", ""), node.op_type), []):
            if types.get(node.input[weight], onnx.TensorProto.UINT8) != onnx.TensorProto.INT8:
                continue
            new = f"oracle_{weight}_{node.output[0]}"
            node.input[weight] = unsigned(graph, constants, node.input[weight], new, nodes)
            node.input.extend([""] * (zero + 1 - len(node.input)))
            node.input[zero] = (unsigned(graph, constants, node.input[zero], new + "_zero", nodes) if node.input[zero]
                                else OFFSET + "_u8")
            found += 1
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    return found


def graphs_of(node):
    """The graphs in the node's attributes."""
    return [graph for attribute in node.attribute
            for graph in ([attribute.g] if attribute.HasField("g") else attribute.graphs)]


def every_node(graph):
    """The nodes of a graph or function and of its inner graphs."""
    for node in graph.node:
        yield node
        for inner in graphs_of(node):
            yield from every_node(inner)


def has_products(nodes):
    return any((node.domain.replace("ai.onnx", ""), node.op_type) in PRODUCTS for node in nodes)


def exact(model):
    """The model with products that no processor saturates: a ModelProto, unchanged if it has none. Local functions, whose
    tensors have no types, are inlined if they contain such products."""
    if has_products(node for function in model.functions for node in every_node(function)):
        model = onnx.inliner.inline_local_functions(model)
    if not has_products(every_node(model.graph)):
        return model
    copy = onnx.shape_inference.infer_shapes(model)
    if not rewrite(copy.graph, {}, {}):
        return model
    del copy.graph.value_info[:]
    copy.graph.initializer.extend([numpy_helper.from_array(numpy.array(128, numpy.int32), OFFSET),
                                   numpy_helper.from_array(numpy.array(128, numpy.uint8), OFFSET + "_u8")])
    return copy


def session(model, optimised=False, threads=1):
    """A session on the CPU. `model`: a ModelProto, its bytes or its path. Operators run as written unless `optimised`."""
    if not isinstance(model, onnx.ModelProto):
        model = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(model)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.x64quantprecision", "1")
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(exact(model).SerializeToString(), options, providers=["CPUExecutionProvider"])
