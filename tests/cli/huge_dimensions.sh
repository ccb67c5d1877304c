# A model that is wrong is refused with a sentence, and nothing is written.
tpat list $MODELS/huge_dimensions.onnx
echo "exit $?"
tpat build $MODELS/huge_dimensions.onnx -t MatMul,Add,Relu,Softmax -o out.onnx
echo "exit $?"
ls
