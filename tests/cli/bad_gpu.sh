tpat build $MODELS/small.onnx -t Softmax -o out.onnx --gpu "GTX 480"
ls
