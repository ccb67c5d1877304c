# Neither -n nor -t nor --auto.
tpat build $MODELS/small.onnx -o out.onnx
echo "exit $?"
ls
