# Some of the plugins, by name and by node; a missing library fails its own plugin only.
tpat build $MODELS/small.onnx -n product,activation -o out.onnx --arch sm_90 --split --name product=First \
	--name activation=Second > log || exit
tpat verify out.onnx -d cpu --runs 1 -n Second | grep -E '^&&&&|node'
tpat verify out.onnx -d cpu --runs 1 -n activation,First | grep -E '^&&&&|node'
tpat verify out.onnx -d cpu -n Fourth
tpat verify out.onnx -d cpu -n probabilities
rm libtpat_out_First.so
tpat verify out.onnx -d cpu --runs 1 | grep -E '^&&&&|node|library'
tpat verify out.onnx -d cpu -n First
