# Without NVRTC or a C compiler nothing is written.
TPAT_NVRTC=/no/such/library tpat build $MODELS/small.onnx -t Softmax -o out.onnx
echo "exit $?"
CC=no_such_compiler tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90
echo "exit $?"
ls
