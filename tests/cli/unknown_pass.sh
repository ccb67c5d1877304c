# The passes that there are come from the build itself; nothing is written.
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 --dump inlin
echo "exit $?"
ls
