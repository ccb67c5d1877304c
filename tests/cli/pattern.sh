# Patterns by name and from a file, and a plugin that can only lose.
tpat build $MODELS/small.onnx --pattern $MODELS/small.onnx -o out.onnx --arch sm_90 | sed -n 2p
tpat verify out.onnx --device cpu | tail -n 1
tpat build $MODELS/small.onnx --pattern gelu --dry-run
tpat build $MODELS/small.onnx --pattern geluu --dry-run
tpat build $MODELS/small.onnx --pattern missing.onnx --dry-run
tpat build $MODELS/small.onnx -n activation --dry-run
tpat build $MODELS/small.onnx --region activation,probabilities --dry-run
