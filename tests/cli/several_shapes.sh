# Shapes and profiles of several tensors in one option, as trtexec takes them. A tensor whose name is the whole text has priority.
M=$MODELS/three_inputs.onnx
tpat list $M --shape x:2x4,y:3x4 | grep Softmax
tpat list $M --shape x:2,4,y:3,4,x:2x4,y:5,4 | grep Softmax
tpat list $M --shape x:2x4,z:3x4
tpat run $M --shape x:2x4 --shape x:2x4,y:1x4,y:3x4 | grep '^  [abc]:'
tpat build $M -t Softmax -o out.onnx --arch sm_90 --profile x:1x4,8x4,9x4,y:2x4,3x4,4x4 --profile x:2x4,y:1x4,5x4,6x4 > log
sed -n '/^next/,/maxShapes/p' log
tpat build $M -t Softmax -o out.onnx --profile x:1x4,8x4,9x4,z:2x4,3x4,4x4
tpat verify out.onnx --device cpu --shape x:2x4,y:3x4 --runs 1 | tail -n 1
tpat verify out.onnx --device cpu --shape x:2x4,z:3x4
tpat deploy out.onnx --profile '*:1,2,3,y:5x4,6x4,7x4' | grep Shapes
tpat run $M --shape "x:2x4,'x:2x4,y':1x4,y:3x4" | grep '^  [abc]:'
