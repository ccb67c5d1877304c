# Such a node can stay in a model, but is none that tpat can take.
tpat list $MODELS/string_tensor.onnx
echo "exit $?"
tpat build $MODELS/string_tensor.onnx -n node -o out.onnx
echo "exit $?"
ls
