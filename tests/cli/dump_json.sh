# With --json standard output has only the report.
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 --json --dump inline 2> dump | python3 -m json.tool > /dev/null && echo fine
head -n 1 dump
