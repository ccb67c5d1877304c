# The rewritten model runs in ONNX Runtime, although that crashes at SimplifiedLayerNormalization in a function.
root=${MODELS%/build/tests/models}
for opset in 17 18; do
	tpat build $MODELS/simplified_norm_$opset.onnx --auto --arch compute_90 --decompose no -o out.onnx -q > log || exit
	tpat verify out.onnx --device cpu | tail -n 1
	$root/build/venv/bin/python - $MODELS/simplified_norm_$opset.onnx out.onnx 2> /dev/null <<'P'
import sys
import numpy
import onnxruntime
x = {"x": numpy.linspace(-2, 2, 24).reshape(2, 3, 4).astype(numpy.float16)}
a, b = (onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, x) for model in sys.argv[1:])
print(all(p.dtype == q.dtype and numpy.allclose(p, q, 1e-3, 1e-3) for p, q in zip(a, b)))
P
done
