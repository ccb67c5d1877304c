tpat build $MODELS/small.onnx -t Softmax,Relu -o out.onnx --arch sm_90,compute_90 > log || exit
tpat inspect libtpat_out.so
tpat inspect --json libtpat_out.so | python3 -m json.tool > /dev/null && echo fine
