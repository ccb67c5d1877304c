# For machines: it parses.
tpat list --json $MODELS/small.onnx | python3 -m json.tool > /dev/null && echo fine
