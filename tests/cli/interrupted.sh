# Ctrl-C leaves nothing behind, also while NVRTC compiles, which handles it in its own way.
timeout --preserve-status -s INT 0.2 tpat build $MODELS/small.onnx -t MatMul,Add,Relu,Softmax --arch all -o out.onnx
echo "exit $?"
for seconds in 0.02 0.03 0.04 0.05 0.06 0.08 0.1 0.15; do
	timeout --preserve-status -s INT $seconds tpat build $MODELS/small.onnx -t MatMul,Add,Relu,Softmax --arch all -o out.onnx 2> error
	echo "exit $?"
done
rm error
ls
