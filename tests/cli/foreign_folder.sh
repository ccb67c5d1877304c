# A folder that tpat did not make is not replaced.
mkdir out.tpat && echo mine > out.tpat/file
tpat build $MODELS/small.onnx -t Softmax -o out.onnx
echo "exit $?"
find . -type f
