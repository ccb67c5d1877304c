tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch fast
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_12345
ls
