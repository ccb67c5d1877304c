# TensorRT's tensors have at most 8 axes: --auto takes the nodes around one with more as a plugin.
tpat list "$MODELS/nine_axes.onnx"
tpat build "$MODELS/nine_axes.onnx" --auto --arch sm_90 -o out.onnx -q > /dev/null
tpat verify out.onnx -d cpu | tail -n 1
tpat build "$MODELS/nine_axes.onnx" -n turn -o out.onnx -q
tpat build "$MODELS/nine_axes_input.onnx" --auto --dry-run
tpat build "$MODELS/nine_axes_input.onnx" --all --arch sm_90 -o all.onnx -q > /dev/null
