# Weights of types that TensorRT lacks are in the library, and the model does not grow. Plugins that differ in them share
# kernels. A folder with such plugins can be rebuilt.
tpat build $MODELS/packed_weights.onnx -t com.microsoft.MatMulNBits,Where -o out.onnx --arch sm_90 | sed -n 2p
test $(wc -c < out.onnx) -le $(($(wc -c < $MODELS/packed_weights.onnx) + 2048)) || ls -l out.onnx $MODELS/packed_weights.onnx
ls out.tpat/kernels | grep -c cu$
ls out.tpat/plugins/*.h | wc -l
tpat verify out.onnx --runs 2 --device cpu | grep ' ok\|PASSED'
tpat list out.onnx | grep tpat
echo '// edited' >> out.tpat/kernels/$(ls out.tpat/kernels | grep nbits.*cu$ || ls out.tpat/kernels | grep n_bits.*cu$)
tpat rebuild out.tpat | grep -c libtpat
tpat verify out.onnx --runs 1 --device cpu | tail -n 1
make -s -C out.tpat 2>&1 | tail -n 2
tpat build $MODELS/packed_weights.onnx -t com.microsoft.MatMulNBits --split -o apart.onnx --arch sm_90 > log || cat log
ls *.so | wc -l
tpat verify apart.onnx --runs 1 --device cpu | tail -n 1
