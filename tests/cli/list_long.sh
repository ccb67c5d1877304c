# A model of more than 40 nodes: a summary by operator, what is refused and why, once for all nodes alike.
tpat list $MODELS/long.onnx
tpat list $MODELS/long.onnx --refused | sed -n '5,9p'
tpat list $MODELS/long.onnx -t Concat,Relu | tail -n 22
tpat list $MODELS/long.onnx --all | grep -c quantise
tpat list $MODELS/long.onnx --json | python3 -c "
import json, sys
print([(n['label'], n['after']) for n in json.load(sys.stdin)['nodes'] if not n['taken']])"
# An operator with its domain, and without; another domain's is not it.
for type in Adagrad ai.onnx.preview.training.Adagrad com.microsoft.Adagrad; do
	tpat list $MODELS/other_domain.onnx -t $type | grep -c '^  step'
done
