# Models beyond what can be taken: a sentence for the node, soon, and the process goes on.
for name in many_axes mixed_types endless_axis many_inputs; do
	timeout 20 tpat list $MODELS/$name.onnx > list.txt
	echo "exit $?"
	sed -n 's/^ *tpat: //p' list.txt | cut -c 1-120
done
timeout 20 tpat list $MODELS/growing.onnx | grep '^TensorRT 11'
