# An input that becomes a constant: an If on the sample rate is known then, and everything after it. The rewritten model has
# no such input. Then values that are wrong.
root=${MODELS%/build/tests/models}
tpat list $MODELS/two_rates.onnx
tpat list $MODELS/two_rates.onnx --value sr=16000 --value axes=1
tpat build $MODELS/two_rates.onnx --value sr=16000 --value axes=1 -n last -t If -o out.onnx --arch sm_90 > log || exit
tpat list out.onnx
tpat verify out.onnx --device cpu | tail -n 1
cat > same.py <<'P'
import sys
import numpy
import onnx
import onnxruntime
onnx.checker.check_model("out.onnx", full_check=True)
x = numpy.random.default_rng(1).normal(size=(3, 64)).astype(numpy.float32)
given, made = (onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]) for path in (sys.argv[1], "out.onnx"))
print([value.name for value in made.get_inputs()])
want = given.run(None, {"x": x, "sr": numpy.array(16000), "axes": numpy.array([1])})[0]
print(numpy.array_equal(want, made.run(None, {"x": x})[0]))
P
$root/build/venv/bin/python same.py $MODELS/two_rates.onnx
for value in sr rate=16000 s=1 sr= sr=1,2 sr=1.5 sr=much axes=1,2 x=1; do
	tpat list $MODELS/two_rates.onnx --value $value
done
tpat bench $MODELS/two_rates.onnx -n rate --device cpu --value sr=16000 | grep -c us
