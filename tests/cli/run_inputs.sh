# Files that give a model's inputs: with a tensor's name, without one, and with names that have a '='.
run="tpat run $MODELS/layers.onnx --device interpreter"
$run -s x0:3x8 -o y.npz > log
mkdir a=b
cp y.npz a=b/y=x.npz
for given in x0=y.npz x0=a=b/y=x.npz y.npz a=b/y=x.npz y=y.npz x0= =y.npz x0 x.npy; do
	echo "$given:"
	$run -i "$given" 2>&1
done
tpat run $MODELS/three_inputs.onnx -i y.npy
