# The passes that there are come from the build itself; nothing is written. A dry run has none.
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 --dump inlin
echo "exit $?"
ls
tpat build $MODELS/small.onnx -t Softmax --dry-run --dump inline
# A build that fails before its last pass says why.
echo '{"tpat_db":1}' > none.jsonl
tpat db import --db empty.db none.jsonl
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 --dump cuda --db empty.db --from-db-only > /dev/null
