tpat build $MODELS/small.onnx -t Softmax -o out.onnx --gpu "GTX 480"
ls
tpat list $MODELS/small.onnx --gpu "GTX 480" 2>&1 | head -n 1
tpat run $MODELS/small.onnx --device abacus
