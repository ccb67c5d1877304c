# A library a plugin.
tpat build $MODELS/small.onnx -t Softmax,Relu --split --name activation=A --name probabilities=B -o out.onnx --arch sm_90 > log || exit
ls
tpat verify out.onnx --device cpu | tail -n 1
