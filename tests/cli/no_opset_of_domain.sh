# A model that is wrong is refused with a sentence, and nothing is written.
tpat list $MODELS/no_opset_of_domain.onnx
echo "exit $?"
tpat build $MODELS/no_opset_of_domain.onnx -t Relu -o out.onnx
echo "exit $?"
ls
