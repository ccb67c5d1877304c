# What a run took and gave, for other programs. Values themselves may differ between processors.
tpat run $MODELS/small.onnx -s x:2x4 -o y.npz --json | grep -v '"device"'
tpat run $MODELS/small.onnx -s x:2x4 --seed 2 --expect y.npz --json > log 2> error
echo "exit $?"
grep -E '"(compared|elements|differing|differs)"' log | sed 's/ is .*/ .../'
