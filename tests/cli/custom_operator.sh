# Such a node can stay in a model, but is none that tpat can take.
tpat list $MODELS/custom_operator.onnx
echo "exit $?"
tpat build $MODELS/custom_operator.onnx -n node -o out.onnx
echo "exit $?"
ls
