# The extents of the printed command fit the model; those that are given with -s are written into it.
shapes() { sed -n 's/^ *\(--.*hapes=.*\) --timing.*/\1/p' log; grep '^# ' log; }
for model in necks necks_at_224; do
	tpat build $MODELS/$model.onnx -n activation -o out.onnx --arch sm_90 > log && shapes
done
tpat build $MODELS/words.onnx -n weights -o out.onnx --arch sm_90 > log && shapes
tpat build $MODELS/necks.onnx -n activation -o out.onnx --arch sm_90 --profile images:1x3x64x96,2x3x64x96,4x3x64x96 > log && shapes
tpat build $MODELS/necks.onnx -n activation -o out.onnx --arch sm_90 -s images:batchx3x320x256 > log && shapes
tpat list out.onnx | grep puts
tpat build $MODELS/necks.onnx -n activation -o out.onnx --arch sm_90 -s images:1x3x320x320 > log && shapes
tpat list out.onnx | grep puts
tpat build $MODELS/small.onnx -n probabilities -o out.onnx --arch sm_90 -s x:7x4 > log && shapes
tpat list out.onnx | grep puts
