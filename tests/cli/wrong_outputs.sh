# Places where nothing can be written: said before kernels are made.
touch file; mkdir folder
for name in "" . folder/ no/such/folder/out.onnx file/out.onnx; do
	tpat build $MODELS/small.onnx -t Softmax -o "$name"
	echo "exit $?"
done
tpat build $MODELS/small.onnx -n product -o /proc/x.onnx
ls -A . folder
