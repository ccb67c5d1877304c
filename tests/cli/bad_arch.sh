tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch fast
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_12345
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch rtx4090
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch 8.9
ls
