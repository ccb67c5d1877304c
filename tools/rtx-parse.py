"""The real TensorRT-RTX parser on a rewritten model: rtx-parse.py MODEL ... Without loaded plugins, it must parse each
plugin's node as the local function with the original operators. Works without a GPU."""
import sys

try:
    import tensorrt_rtx as trt
except ImportError:
    import tensorrt_rtx_bindings as trt

failed = 0
for path in sys.argv[1:]:
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    parsed = parser.parse_from_file(path)
    for i in range(parser.num_errors):
        print(f"{path}: {parser.get_error(i).desc()}")
    if not parsed or network.num_layers == 0 or network.num_outputs == 0:
        print(f"{path}: not parsed ({network.num_layers} layers)")
        failed += 1
print(f"{len(sys.argv) - 1 - failed} passed, {failed} failed")
sys.exit(failed > 0)
