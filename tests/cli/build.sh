# A build's files; a second build writes the same.
tpat build $MODELS/small.onnx -t Softmax --arch sm_80,sm_90,compute_90 -o out.onnx > log || exit
find . -type f | LC_ALL=C sort
cp out.onnx first.onnx
tpat build $MODELS/small.onnx -t Softmax --arch sm_80,sm_90,compute_90 -o out.onnx > log || exit
cmp out.onnx first.onnx && echo same
