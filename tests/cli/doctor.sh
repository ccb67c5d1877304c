# Each rewritten model with its library and folder.
{
tpat doctor .
tpat build $MODELS/small.onnx -t Softmax -o one.onnx --arch sm_90 > log || exit
tpat build $MODELS/small.onnx -t Softmax,Relu --split -o two.onnx --arch sm_90 > log || exit
tpat doctor .
cp libtpat_one.so libtpat_two_tpat_relu_*.so
rm libtpat_one.so
tpat doctor .
echo "exit $?"
tpat doctor --json one.onnx
tpat doctor missing.onnx
} 2>&1 | sed -E "s/_[0-9a-f]{8}/_HASH/g"
