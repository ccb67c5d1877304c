tpat list no_such_model.onnx
