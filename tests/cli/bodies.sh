# Nodes of graphs inside of nodes: listed, selected in every way, made into plugins, verified. ONNX's checker and ONNX Runtime
# have the last word on each rewritten model.
root=${MODELS%/build/tests/models}
model=$MODELS/bodies.onnx
try() {
	name=$1
	shift
	echo "== $name: $*"
	tpat build $model "$@" -o $name.onnx --arch sm_90 > log || { cat log; return; }
	sed -n 2p log
	tpat verify $name.onnx --device cpu | sed -n '/  ok/p; /&&&&/p; s/^  FAILED/&/p'
	same $model $name.onnx
}
same() {
	$root/build/venv/bin/python $root/tools/demo-check.py $1 $2 8 | grep -c bit-equal
}
tpat list $model
try auto --auto --decompose=no
try named -n halve,choose/else_branch/soft,#2/then_branch/#2,kept,#3/body/#2
try types -t Softplus --except choose/then_branch/soft
try every -t Softplus,Where,Add,Erf,Mul
try regions --region weigh,choose/then_branch/soft,pick --region quantise,dequantise,choose_next --region add,#3/body/soft,#3/body/#2
try around -t If,Where -n add
echo "== other models: a function and branches in branches; a size that is found in a branch"
model=$MODELS/branches.onnx
try branches -t Add,Where,Mul,Not,own.Half,Relu
model=$MODELS/perhaps_boxes.onnx
try boxes --auto
model=$MODELS/bodies.onnx
echo "== what cannot be"
tpat build $model -n soft
tpat build $model -n t1
tpat build $model -n choose/then_branch/sof
tpat build $model -n choose,pick
tpat build $model -t Loop -n error
tpat build $model --region weigh,halve
tpat build $model --region weigh,twice
echo "== names in JSON"
tpat list --json every.onnx | grep -E '"(graph|label)"' | paste - - | sed -n 6,12p
echo "== once more, and for TensorRT 10.3"
tpat build named.onnx --region quantise,dequantise --tensorrt 10.3 -o again.onnx --arch sm_90 | sed -n 2p
tpat verify again.onnx --device cpu | tail -n 1
same $model again_portable.onnx
tpat rebuild again.tpat | tail -n 1
tpat verify again_portable.onnx --device cpu | tail -n 1
