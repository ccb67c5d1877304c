tpat build $MODELS/small.onnx -t Sofmax -o out.onnx
echo "exit $?"
ls
