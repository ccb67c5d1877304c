# Ctrl-C leaves nothing behind, also while NVRTC compiles, which handles it in its own way. A build that is over by then is
# complete.
interrupted=0
for seconds in 0.02 0.03 0.04 0.05 0.06 0.08 0.1 0.15 0.2 0.4; do
	timeout --preserve-status -s INT $seconds tpat build $MODELS/small.onnx -t MatMul,Add,Relu,Softmax --arch all -o out.onnx > log 2> error
	status=$?
	files=$(ls | tr '\n' ' ')
	case "$status $files" in
	"130 error log ") interrupted=$((interrupted + 1)) ;;
	"0 error libtpat_out.so log out.onnx out.tpat ") rm -r libtpat_out.so out.onnx out.tpat ;;
	*) echo "exit $status after $seconds s: $files" && cat error ;;
	esac
done
test $interrupted -gt 0 && echo "interrupted, and nothing was written"
# So does one signal where nothing looks for it: this model is one call of 65,536 nodes.
timeout --preserve-status -k 30 -s TERM 1 tpat list $MODELS/long/doubled.onnx --why "#0"
echo $?
