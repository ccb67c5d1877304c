tpat bench $MODELS/small.onnx -d cpu --repeats 2
tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Softmax --json | python3 -m json.tool > /dev/null && echo fine
tpat bench $MODELS/small.onnx -d cpu -n nothing
tpat bench $MODELS/small.onnx -d cpu --repeats 0
tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Add --save-outputs . > /dev/null && ls
tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Relu --unchecked -i sum=sum.npy --save-outputs . > /dev/null && ls
tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Relu -i other=sum.npy > /dev/null
tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Relu -i sum.npy
tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Relu --save-outputs nowhere
