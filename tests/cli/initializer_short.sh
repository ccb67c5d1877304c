# A model that is wrong is refused with a sentence, and nothing is written.
tpat list $MODELS/initializer_short.onnx
echo "exit $?"
tpat build $MODELS/initializer_short.onnx -t MatMul,Add,Relu,Softmax -o out.onnx
echo "exit $?"
ls
