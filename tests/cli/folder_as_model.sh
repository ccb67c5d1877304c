mkdir model.onnx; tpat list model.onnx
