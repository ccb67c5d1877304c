# Nodes that a log of TensorRT refuses: by output, by name, by number, by type. A log without any is an error.
cat > log.txt <<'END'
[01/02/2026-10:00:00] [V] [TRT] ModelImporter.cpp:107: Parsing node: product [MatMul]
[01/02/2026-10:00:00] [E] [TRT] ModelImporter.cpp:771: While parsing node number 3 [Softmax -> "y"]:
[E] In node 1 with name: another and operator: Add (parseNode): UNSUPPORTED_NODE: Assertion failed
[E] In node 0 with name: another and operator: Add (parseNode): not this one
[E] Error[10]: Could not find any implementation for node activation.
END
tpat list $MODELS/small.onnx --engine-report log.txt | tail -n 12
tpat build $MODELS/small.onnx --auto --engine-report log.txt --dry-run
echo "[E] [TRT] getPluginCreator could not find plugin: MatMul version: 1" > types.txt
tpat list $MODELS/small.onnx --engine-report types.txt | tail -n 1
tpat list $MODELS/small.onnx --engine-report $MODELS/small.onnx
echo "nothing" > none.txt
tpat list $MODELS/small.onnx --engine-report none.txt
