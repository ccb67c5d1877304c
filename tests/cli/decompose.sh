# Refused nodes that nodes of TensorRT's own replace; all of them, none, some; one that the user names.
tpat build $MODELS/plain.onnx --auto -o plain.onnx -q | head -n 4
tpat list plain.onnx | grep -v "^  *inputs\|^  *outputs"
tpat build $MODELS/plain.onnx --auto --decompose=no --dry-run
tpat build $MODELS/plain.onnx --auto --except swish,last --dry-run
tpat build $MODELS/plain.onnx --auto -n swish --dry-run
tpat build $MODELS/plain.onnx --auto --decompose=all --dry-run --json | grep -A 5 '"plain"'
tpat build $MODELS/plain.onnx --auto --decompose=some --dry-run
tpat build $MODELS/plain.onnx -n swish --decompose=all --dry-run
