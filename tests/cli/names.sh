# Names of plugins that cannot be.
tpat build $MODELS/small.onnx -t Softmax --name probabilities=Softmax -o out.onnx
tpat build $MODELS/small.onnx -t Softmax --name "probabilities=a b" -o out.onnx
tpat build $MODELS/small.onnx -t Softmax --name probability=MySoftmax -o out.onnx
tpat build $MODELS/small.onnx -t Softmax,Relu --name probabilities=A --name activation=A -o out.onnx
ls
