# The folder is enough to build the library again.
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 > log || exit
make -s -C out.tpat && tpat inspect out.tpat/libtpat_out.so | tail -n 1
