tpat build $MODELS/small.onnx -n activatoin -o out.onnx
echo "exit $?"
ls
