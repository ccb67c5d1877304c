# The command that comes next has the extents that the user gave.
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 --profile x:1x4,8x4,100x4 | grep -A 2 ^next
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --profile x:1x4,8x4
tpat build $MODELS/small.onnx -t Softmax --profile x:1x4,8x4 --dry-run
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --profile z:1x4,8x4,9x4
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --profile x:9x4,8x4,1x4
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --profile x:1x3,8x3,9x3
# The batch of every input of which only the first extent is open; an input's own profile has priority.
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 --profile '*:1,16,64' | grep -A 2 ^next
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 --profile '*:1,16,64' --profile x:2x4,3x4,4x4 | grep -A 2 ^next
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --profile '*:9,8,1'
tpat build $MODELS/neck.onnx -t Concat -o out.onnx --profile '*:1,8,32'
tpat deploy out.onnx --profile '*:2,4,8' | head -3
