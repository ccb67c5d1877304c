# A library whose tables another version of tpat wrote is not read, nor does anything run it.
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 > log || exit
sed -i 's/define TPAT_RT_VERSION .*/define TPAT_RT_VERSION 3/' out.tpat/rt/tpat/tpat_rt.h
make -s -C out.tpat && mv out.tpat/libtpat_out.so . || exit
tpat inspect libtpat_out.so 2>&1 | sed 's/version [0-9]*\.$/version N./'
tpat verify out.onnx --device cpu 2>&1 | sed 's/version [0-9]*\.$/version N./'
tpat check-plugin libtpat_out.so --input f32[2,3] | head -n 1
