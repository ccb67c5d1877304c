# What a release of TensorRT supports: non-maximum suppression is in the full TensorRT since 8.5, and not in TensorRT-RTX.
for release in 8.6 10.3 11.5 rtx; do
	tpat list $MODELS/perhaps_boxes.onnx --tensorrt $release | tail -n 1
done
tpat list $MODELS/perhaps_boxes.onnx --tensorrt 12
tpat build $MODELS/perhaps_boxes.onnx --auto --tensorrt 10.3 --dry-run
tpat build $MODELS/perhaps_boxes.onnx --auto --dry-run | grep -v us
