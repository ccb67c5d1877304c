tpat biuld $MODELS/small.onnx
