# Ctrl-C leaves nothing behind.
timeout --preserve-status -s INT 0.2 tpat build $MODELS/small.onnx -t MatMul,Add,Relu,Softmax --arch all -o out.onnx
echo "exit $?"
ls
