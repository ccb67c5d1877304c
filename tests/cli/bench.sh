tpat bench $MODELS/small.onnx -d cpu --repeats 2
tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Softmax --json | python3 -m json.tool > /dev/null && echo fine
tpat bench $MODELS/small.onnx -d cpu -n nothing
tpat bench $MODELS/small.onnx -d cpu --repeats 0
