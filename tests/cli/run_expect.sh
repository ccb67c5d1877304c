# Outputs of a whole model, compared with expected ones.
run="tpat run $MODELS/small.onnx -s x:3x4 --device interpreter"
$run -o a.npz && $run -e a.npz
$run --seed 2 -e a.npz
echo exit $?
$run --seed 2 -e a.npz --tolerance 1000
$run -e a.npz --tolerance small
$run -e nothing.npz
mkdir folder
$run -e folder
$run -i folder
$run -e $MODELS/small.onnx
$run --time 3
