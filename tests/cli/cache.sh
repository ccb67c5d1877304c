# A second build of an unchanged model compiles nothing; damaged entries are compiled again; without a cache all are.
export TPAT_CACHE=$PWD/cache
build() { # OUTPUT NODES
	tpat build $MODELS/small.onnx -n "$2" -o "$1" --arch sm_90,sm_80 --namespace n --json |
		python3 -c "import json, sys; r = json.load(sys.stdin); print(r['compiled'], 'compiled,', r['cached'], 'from the cache')"
}
build one.onnx activation,probabilities
cp libtpat_one.so before.so
build one.onnx activation,probabilities
cmp libtpat_one.so before.so && ls -l cache/code | grep -c rw-------
build three.onnx activation,bias
for f in cache/code/*; do printf damaged | dd of=$f bs=1 seek=200 conv=notrunc 2> /dev/null; done
build one.onnx activation,probabilities
cmp libtpat_one.so before.so
TPAT_CACHE_SIZE=0 build one.onnx activation,probabilities
