# The files of some engines, and mistakes.
tpat build $MODELS/small.onnx -n product,probabilities --arch sm_90 -o small_tpat.onnx -q >/dev/null
tpat deploy small_tpat.onnx --profile x:1x4,16x4,64x4
tpat deploy small_tpat.onnx -e polygraphy --tensorrt 8.6 --profile x:1x4,16x4,64x4
tpat deploy small_tpat.onnx -e triton -o served 2>/dev/null
cat served/config.pbtxt
tpat deploy small_tpat.onnx -e triton -o served --profile x:1x4,16x4,64x4
tpat deploy small_tpat.onnx -e triton -o served --profile x:1x4,16x4,64x4 -f
tpat deploy small_tpat.onnx -e tritn
tpat deploy $MODELS/small.onnx
mv libtpat_small.so elsewhere.so
tpat deploy small_tpat.onnx
tpat deploy small_tpat.onnx -l elsewhere.so -e deepstream | grep custom
for name in onnxruntime TensorRT Triton_Server; do tpat deploy small_tpat.onnx -l elsewhere.so -e $name --profile x:1x4,16x4,64x4 | head -n 1; done
tpat deploy small_tpat.onnx -l gone.so
