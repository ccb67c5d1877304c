# Inputs that say extents are shape inputs of the plugin; what it needs when it is launched are extents of its outputs.
root=${MODELS%/build/tests/models}
tpat list $MODELS/counted.onnx | sed -n '/^  node/,/^$/p'
tpat build $MODELS/counted.onnx -n tiles,best -o one.onnx --arch compute_90 --dump prune > log || exit
sed -n '/^program/,/^$/p' log
tpat verify one.onnx --device cpu --runs 6 | tail -n 1
PYTHONPATH=$root/tests $root/build/venv/bin/python -c "
import sys, numpy, onnx, oracle
onnx.checker.check_model('one.onnx', full_check=True)
print(*[[a.name, list(a.ints)] for n in onnx.load('one.onnx').graph.node for a in n.attribute if a.ints])
given = {'x': numpy.float32([[3, 1, 2], [5, 4, 6]]), 'times': numpy.int64([2, 3]), 'k': numpy.int64([4])}
got = [oracle.session(name).run(None, given) for name in (sys.argv[1], 'one.onnx')]
print(all(numpy.array_equal(a, b) for a, b in zip(*got)))" $MODELS/counted.onnx
grep -h 'shape_input = 1' one.tpat/plugins/*.h
# Both in one: the outputs' extents tell how long a row of what is tiled is no more.
tpat build $MODELS/counted.onnx --region tiles,best -o both.onnx --arch compute_90 -v | tail -n 3
