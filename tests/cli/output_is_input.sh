# The model itself is never overwritten.
cp $MODELS/small.onnx .
tpat build small.onnx -t Softmax -o small.onnx
echo "exit $?"
cmp small.onnx $MODELS/small.onnx && echo unchanged
