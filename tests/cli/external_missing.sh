# A model that is wrong is refused with a sentence, and nothing is written.
tpat list $MODELS/external_missing.onnx
echo "exit $?"
tpat build $MODELS/external_missing.onnx -t MatMul,Add,Relu,Softmax -o out.onnx
echo "exit $?"
ls
