# A model without plugins has nothing to verify.
tpat verify $MODELS/small.onnx --device cpu
