# The rewritten model runs in ONNX Runtime, although that refuses QLinearConcat in a function.
root=${MODELS%/build/tests/models}
tpat build $MODELS/q_concat.onnx --auto --arch sm_90 --decompose no -o out.onnx -q | tail -n 0
tpat verify out.onnx --device cpu | tail -n 1
$root/build/venv/bin/python $root/tools/demo-check.py $MODELS/q_concat.onnx out.onnx 3 | grep -c bit-equal
