# A model that was rewritten before: its plugins stay, and the printed line names all libraries.
check() {
	tpat verify "$1" --device cpu | sed 's/: max.*//; s/ on .*//; /^ *[a-z]*[0-9]*\[/d'
}
cp $MODELS/small.onnx net.onnx
tpat build net.onnx -t Softmax --arch compute_90 > log || exit
tpat list net_tpat.onnx | grep tpat_softmax
tpat build net_tpat.onnx --auto --arch compute_90 -o nothing.onnx
tpat build net_tpat.onnx -t Relu --arch compute_90 -o second.onnx | grep -v '^#'
grep -o 'Plugins=[^ ]*' second.tpat/README.md
check second.onnx
# Once more, one library a plugin, in another folder; then the earlier plugin itself is replaced.
mkdir sub
tpat build second.onnx -t Add --arch compute_90 --split -o sub/third.onnx | grep -E '^wrote|^   uses|Plugins'
tpat build second.onnx -n probabilities --arch compute_90 -o other.onnx | grep -E '^wrote|^   uses|Plugins'
check other.onnx
tpat build second.onnx -n activation,probabilities --arch compute_90 --tensorrt 10.3 -o none.onnx | grep -E '^wrote|^   uses|Plugins'
# Libraries that a model needs are neither replaced nor missing.
cp net_tpat.onnx copy.onnx
tpat build copy.onnx -t Relu --arch compute_90 -o net.onnx
tpat build copy.onnx -t Relu --arch compute_90 -o net.onnx --force
tpat build none.onnx -t Add --arch compute_90 -o fourth.onnx
rm libtpat_net.so
tpat build net_tpat.onnx -t Relu --arch compute_90 -o fourth.onnx
ls *.onnx
