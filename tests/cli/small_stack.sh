# A stack of 512 KB is enough to build, to verify and to tune.
ulimit -s 512
tpat build $MODELS/small.onnx --all -o out.onnx --arch sm_90 -q > /dev/null
echo "build $?"
tpat verify out.onnx | tail -n 1
tpat tune $MODELS/small.onnx -n product --device cpu --db t.db --trials 3 --shape x:4x4 -q > /dev/null
echo "tune $?"
