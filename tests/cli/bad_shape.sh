tpat build $MODELS/small.onnx -t Softmax -o out.onnx --shape 1x4
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --shape x:1x-4
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --shape x:1x5
tpat list $MODELS/small.onnx --shape x:6x4 | grep Softmax
