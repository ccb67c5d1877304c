tpat bench $MODELS/small.onnx -d cpu --repeats 2
tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Softmax --json | python3 -m json.tool > /dev/null && echo fine
tpat tune $MODELS/small.onnx -d cpu -n product -s x:64x4 --trials 1 -j 1 --db t.db > /dev/null 2>&1
tpat bench $MODELS/small.onnx -d cpu -n product -s x:64x4 --repeats 2 --db t.db | sed 1,2d
tpat bench $MODELS/small.onnx -d cpu -s x:64x4 --repeats 2 --db t.db --json | python3 -c "import json, sys; print('the database decided', sum(t['tuned_on'] is not None for t in json.load(sys.stdin)['timings']))"
tpat tune $MODELS/small.onnx -d cpu -n product --profile x:32x4,32x4,32x4 --trials 1 -j 1 --db t.db > /dev/null 2>&1
tpat bench $MODELS/small.onnx -d cpu -n product --profile x:1x4,32x4,64x4 --repeats 2 --db t.db | sed 1d
flock turn sh -c "touch held; sleep 2; rm held" & while [ ! -e held ]; do sleep 0.1; done; tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Add --lock turn > /dev/null && test ! -e held && echo "waited for its turn"
tpat bench $MODELS/small.onnx -d cpu --db none.db
tpat bench $MODELS/small.onnx -d cpu -n nothing
tpat bench $MODELS/small.onnx -d cpu --repeats 0
tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Add --save-outputs . > /dev/null && ls *.npy
tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Relu --unchecked -i sum=sum.npy --save-outputs . > /dev/null && ls *.npy
tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Relu -i other=sum.npy > /dev/null
tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Relu -i sum.npy
tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Relu --lock nowhere/turn > /dev/null
tpat bench $MODELS/small.onnx -d cpu --repeats 2 -t Relu --save-outputs nowhere
