# Sequences of known length are plain nodes before anything else: no plugin is needed for them.
tpat list $MODELS/sequences.onnx
tpat build $MODELS/sequences.onnx --auto --decompose=no --dry-run
tpat build $MODELS/sequences.onnx --auto -o out.onnx -q | head -n 4
tpat list out.onnx | tail -n 1
