# A model that is wrong is refused with a sentence, and nothing is written.
tpat list $MODELS/cycle.onnx
echo "exit $?"
tpat build $MODELS/cycle.onnx -t MatMul,Add,Relu,Softmax -o out.onnx
echo "exit $?"
ls
