# Extents and values that the user gives.
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 --name probabilities=MySoftmax > log || exit
tpat verify out.onnx --device cpu --shape positive:7x3 --runs 1
tpat verify out.onnx --device cpu --shape positive:7x4
tpat verify out.onnx --device cpu --shape nothing:7x3
tpat verify out.onnx --device abacus
