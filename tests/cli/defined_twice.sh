# A model that is wrong is refused with a sentence, and nothing is written.
tpat list $MODELS/defined_twice.onnx
echo "exit $?"
tpat build $MODELS/defined_twice.onnx -t MatMul,Add,Relu,Softmax -o out.onnx
echo "exit $?"
ls
