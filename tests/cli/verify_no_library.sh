tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 > log || exit
rm libtpat_out.so
tpat verify out.onnx --device cpu
