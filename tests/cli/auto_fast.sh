# --auto=fast: chains that TensorRT runs itself, in more kernels than a plugin. Products and attention stay with it.
tpat build $MODELS/chains.onnx --auto=fast --dry-run
tpat build $MODELS/chains.onnx --auto=fast --min-gain 30us --dry-run
tpat build $MODELS/chains.onnx --auto=fast --except negative -o out.onnx --arch sm_90 -q | head -n 1
tpat verify out.onnx --device cpu | tail -n 1
tpat build $MODELS/chains.onnx --auto --dry-run
tpat build $MODELS/small.onnx --auto=fast --dry-run
tpat build $MODELS/chains.onnx --auto=quick --dry-run
tpat build $MODELS/chains.onnx --auto=fast --chains 1 --dry-run | head -n 2
tpat build $MODELS/chains.onnx --auto --min-gain 5us --dry-run
tpat build $MODELS/chains.onnx --auto --chains 1 --dry-run
tpat build $MODELS/chains.onnx --auto=fast --min-gain 5 --dry-run
