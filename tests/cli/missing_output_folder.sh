tpat build $MODELS/small.onnx -t Softmax -o no/such/folder/out.onnx
