tpat build --frobnicate $MODELS/small.onnx
