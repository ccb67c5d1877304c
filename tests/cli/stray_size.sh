# A node that cannot be a plugin by itself does not keep the others from being built.
tpat build $MODELS/stray_size.onnx --all --dry-run
tpat build $MODELS/stray_size.onnx --all --except count,modulus --dry-run
