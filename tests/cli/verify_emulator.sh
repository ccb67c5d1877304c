# The CUDA text itself runs: wrong results, reads out of bounds and elements that nothing writes are found in it.
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --name probabilities=MySoftmax --arch sm_90 > log || exit
text=out.tpat/kernels/MySoftmax.cu
cp $text whole.cu
try() {
	tpat verify out.onnx --shape positive:7x3 --runs 1 --device emulator
	cp whole.cu $text
}
try
sed -i 's/row_largest = -INFINITY/row_largest = INFINITY/' $text
try
sed -i 's/= input\[row/= input[9 + row/' $text
try
sed -i 's/row >= N/row >= N - 1/' $text
try
sed -i 's/const int lane/integer lane/' $text
try
tpat bench $MODELS/small.onnx --device emulator
