# A model that is wrong is refused with a sentence, and nothing is written.
tpat list $MODELS/undefined_tensor.onnx
echo "exit $?"
tpat build $MODELS/undefined_tensor.onnx -t MatMul,Add,Relu,Softmax -o out.onnx
echo "exit $?"
ls
