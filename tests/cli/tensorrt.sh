# TensorRT before 10.7 takes a node's local function before its plugin: a model without functions, and a portable one.
root=${MODELS%/build/tests/models}
tpat build $MODELS/small.onnx -t Softmax,MatMul --arch compute_90 --tensorrt 10.3 -o net.onnx
$root/build/venv/bin/python -c "
import numpy, onnx, onnxruntime
for name in 'net.onnx', 'net_portable.onnx':
    model = onnx.load(name)
    onnx.checker.check_model(model, full_check=True)
    print(name, len(model.functions), [(n.domain or '-', len(n.attribute)) for n in model.graph.node])
x = numpy.arange(8, dtype=numpy.float32).reshape(2, 4)
plain = onnxruntime.SessionOptions()
plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
got = [onnxruntime.InferenceSession(name, plain).run(None, {'x': x})[0] for name in ('$MODELS/small.onnx', 'net_portable.onnx')]
print(numpy.array_equal(*got))"
grep -c net_portable.onnx net.tpat/README.md
tpat verify net.onnx --device cpu | tail -n 1
tpat verify net_portable.onnx --device cpu | tail -n 1
mv net_portable.onnx away.onnx
tpat verify net.onnx --device cpu
tpat build $MODELS/small.onnx -t Relu --arch compute_90 -o net_portable.onnx > log
tpat verify net.onnx --device cpu
for version in 10 10.0 10.6.1 10.7 11 11.1 rtx; do
	tpat build $MODELS/small.onnx -t Relu --arch compute_90 --tensorrt $version -o v.onnx | grep -E '^wrote|^ .*portable|^# .*TensorRT'
done
for version in 8.4 7.1.3 12 4 ten 10. 10.x ''; do
	tpat build $MODELS/small.onnx -t Relu --arch compute_90 --tensorrt "$version" -o w.onnx
	echo $?
done
tpat build $MODELS/counted.onnx -n tiles --arch compute_90 --tensorrt 10.0 -o shapes.onnx > log
tpat build net_portable.onnx -t Add --arch compute_90 --tensorrt 10.3 -o net.onnx
ls
# TensorRT 8.5 to 9.3: V2 plugins, no int64 at a plugin, and other options of trtexec.
for version in 8.5 8.6.1 9.2; do
	tpat build $MODELS/words.onnx -n rows --arch compute_90 --tensorrt $version -o old.onnx --force | grep -E '^ .*libtpat|^next|^# .*TensorRT'
	tpat verify old.onnx --tensorrt $version --device cpu -s ids_int32:2x50 | tail -n 1
done
