# An If whose branches take tensors from around it: the plugin has them as inputs, and so has the function that stands for it
# where no plugin is loaded. ONNX's checker and ONNX Runtime have the last word.
root=${MODELS%/build/tests/models}
tpat build $MODELS/branches.onnx -n choose -o out.onnx --arch compute_90 --dump prune > log || exit
sed -n '/^program/,/^$/p' log
tpat verify out.onnx --device cpu | tail -n 1
$root/build/venv/bin/python $root/tools/demo-check.py $MODELS/branches.onnx out.onnx 8 | grep -c bit-equal
tpat build $MODELS/branches.onnx --region activation,compare,choose -o all.onnx --arch compute_90 -v | sed -n 1,3p
tpat verify all.onnx --device cpu | tail -n 1
$root/build/venv/bin/python $root/tools/demo-check.py $MODELS/branches.onnx all.onnx 8 | grep -c bit-equal
