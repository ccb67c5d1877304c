tpat list $MODELS/small.onnx
