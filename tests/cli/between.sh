# Regions by tensors, whole models, and types of which tpat supports only some nodes.
tpat build $MODELS/small.onnx --from xw --to y -o out.onnx --arch sm_90 -v | sed -n 2,4p
tpat verify out.onnx --device cpu | tail -n 1
tpat build $MODELS/small.onnx --to positive --dry-run
tpat build $MODELS/small.onnx --from positive --dry-run
tpat build $MODELS/small.onnx --all --dry-run
tpat build $MODELS/small.onnx --from positive --to xw --dry-run
tpat build $MODELS/small.onnx --from posit --to y --dry-run
tpat build $MODELS/unknown_operator.onnx --all --dry-run
tpat build $MODELS/bodies.onnx --from x --to y --dry-run
