# A Squeeze without axes: open axes stay, as in TensorRT; older releases get the axes. A run knows all extents.
tpat list $MODELS/squeeze.onnx
tpat build $MODELS/squeeze.onnx --auto --tensorrt 10.3 -o out.onnx | sed -n 1,3p
tpat list out.onnx --tensorrt 10.3 | tail -n 1
for n in 1 3; do
	tpat run $MODELS/squeeze.onnx -s x:${n}x1x4 --device interpreter | tail -n 1
done
