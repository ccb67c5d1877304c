tpat list $MODELS/external.onnx
