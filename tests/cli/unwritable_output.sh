# The output's folder is a file.
touch file
tpat build $MODELS/small.onnx -t Softmax -o file/out.onnx
