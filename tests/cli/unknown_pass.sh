# The passes that there are come from the build itself; nothing is written. A dry run has none.
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 --dump inlin
echo "exit $?"
ls
tpat build $MODELS/small.onnx -t Softmax --dry-run --dump inline
