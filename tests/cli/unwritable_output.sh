# The output's folder is a file.
touch file
tpat build $MODELS/small.onnx -t Softmax -o file/out.onnx
# Its name is too long.
tpat build $MODELS/small.onnx -t Softmax -o $(printf '%0300d' 0).onnx
