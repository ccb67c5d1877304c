# A model that is wrong is refused with a sentence, and nothing is written.
tpat list $MODELS/missing_input.onnx
echo "exit $?"
tpat build $MODELS/missing_input.onnx -t MatMul,Add,Relu,Softmax -o out.onnx
echo "exit $?"
ls
