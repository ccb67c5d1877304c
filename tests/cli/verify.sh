tpat build $MODELS/small.onnx -t Softmax -o out.onnx > log || exit
tpat verify out.onnx --device cpu
