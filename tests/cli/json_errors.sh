# With --json a failure is an object too, beside the sentence for people; names are always UTF-8; a failure to print is one.
tpat list --json missing.onnx
tpat build --json $MODELS/external_missing.onnx -t MatMul 2> /dev/null
tpat list --json $MODELS/undefined_tensor.onnx 2> /dev/null
tpat build --json $MODELS/small.onnx -t Softmax -o "$(printf 'no\377folder/x.onnx')" 2> /dev/null
tpat verify $MODELS/small.onnx --json --runs 0 2> /dev/null
tpat db --json frobnicate 2> /dev/null
echo "exit $?"
cp $MODELS/small.onnx "$(printf '\303\244\377\303.onnx')"
tpat list --json *.onnx | grep '"model"'
tpat list --json $MODELS/small.onnx > /dev/full
echo "exit $?"
tpat list $MODELS/small.onnx >&-
echo "exit $?"
tpat --help > /dev/full
echo "exit $?"
tpat db import --db t.db --json "$(printf '\377')"
