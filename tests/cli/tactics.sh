# Several schedules of a plugin in one library, each of which verify runs; and how many there are.
for n in 1 3; do
	tpat build $MODELS/totals.onnx -n rows -o rows.onnx --arch compute_90 --tactics $n --json | grep '"tactics"'
	tpat verify rows.onnx --device cpu -s x:40x300 --runs 1 | tail -n 1
done
tpat inspect libtpat_rows.so | grep -o "tactic [0-9]*" | sort -u
tpat build $MODELS/totals.onnx -n rows -o rows.onnx --tactics 9
