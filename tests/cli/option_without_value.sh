tpat build $MODELS/small.onnx -o
