# Nodes that no plugin can be: each says why, and the way out.
tpat list $MODELS/refused.onnx
tpat build $MODELS/refused.onnx -n join -o out.onnx
echo "exit $?"
