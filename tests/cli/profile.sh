# The command that comes next has the extents that the user gave.
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 --profile x:1x4,8x4,100x4 | grep -A 2 ^next
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --profile x:1x4,8x4
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --profile z:1x4,8x4,9x4
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --profile x:9x4,8x4,1x4
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --profile x:1x3,8x3,9x3
