# A terminal that goes away leaves nothing behind, as Ctrl-C does; under nohup the work goes on.
TPAT_CACHE=$(mktemp -d)
export TPAT_CACHE # nothing is compiled yet
timeout --preserve-status -s HUP 0.2 tpat build $MODELS/small.onnx -t MatMul,Add,Relu,Softmax --arch all -o out.onnx
echo "exit $?"
ls -A
(trap "" HUP; tpat build $MODELS/small.onnx -t Softmax --arch sm_90 -o out.onnx > log & kill -HUP $!; wait $!)
echo "exit $?"
ls
rm -r "$TPAT_CACHE"
