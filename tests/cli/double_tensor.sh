# list and build agree about a type that TensorRT lacks.
tpat list $MODELS/double_tensor.onnx
tpat build $MODELS/double_tensor.onnx --auto -o out.onnx
echo "exit $?"
tpat build $MODELS/double_tensor.onnx -n node -o out.onnx
echo "exit $?"
# A double tensor between nodes is in a plugin together with them.
tpat list $MODELS/double_inside.onnx
tpat build $MODELS/double_inside.onnx --auto --dry-run
ls
