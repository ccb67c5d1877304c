# list and build agree about a type that TensorRT lacks.
tpat list $MODELS/double_tensor.onnx
tpat build $MODELS/double_tensor.onnx --auto -o out.onnx
echo "exit $?"
tpat build $MODELS/double_tensor.onnx -n node -o out.onnx
echo "exit $?"
ls
