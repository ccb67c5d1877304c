tpat build --json $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 | python3 -m json.tool > /dev/null && echo fine
