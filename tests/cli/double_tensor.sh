# What list says about a type that TensorRT lacks is what build does.
tpat list $MODELS/double_tensor.onnx
tpat build $MODELS/double_tensor.onnx --auto -o out.onnx
echo "exit $?"
tpat build $MODELS/double_tensor.onnx -n node -o out.onnx
echo "exit $?"
ls
