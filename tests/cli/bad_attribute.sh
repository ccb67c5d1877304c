# A model that is wrong is refused with a sentence, and nothing is written.
tpat list $MODELS/bad_attribute.onnx
echo "exit $?"
tpat build $MODELS/bad_attribute.onnx -t MatMul,Add,Relu,Softmax -o out.onnx
echo "exit $?"
ls
