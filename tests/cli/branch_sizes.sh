# An If whose branches give different extents: its extent is a size that is found at run time, and what comes after it is
# known as well. ONNX Runtime has the last word.
root=${MODELS%/build/tests/models}
tpat list $MODELS/perhaps_boxes.onnx
tpat build $MODELS/perhaps_boxes.onnx -n choose -o out.onnx --arch sm_90 > log || exit
tpat verify out.onnx --device cpu | tail -n 1
tpat build $MODELS/perhaps_boxes.onnx --region choose,take,sides,width,height,area,sum -o all.onnx --arch sm_90 -v | sed -n 1,3p
tpat verify all.onnx --device cpu | tail -n 1
for built in out all; do
	$root/build/venv/bin/python $root/tools/demo-check.py $MODELS/perhaps_boxes.onnx $built.onnx 8 | grep -c bit-equal
done
