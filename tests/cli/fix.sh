# A model with refused nodes; one by a log alone; one in which every node is supported, with and without a log.
tpat fix $MODELS/small.onnx
echo "exit $?"
echo '[E] Unknown option: --fp16' > options.txt
tpat fix $MODELS/small.onnx options.txt
echo "exit $?"
echo '[E] Error[10]: Could not find any implementation for node activation.' > log.txt
tpat fix $MODELS/small.onnx log.txt --arch sm_90 --device cpu -o fixed.onnx | sed "s|on .*: |on DEVICE: |"
echo "exit $?"
ls
cat fixed.sh
tpat doctor fixed.onnx
tpat fix $MODELS/small.onnx log.txt --arch sm_90 --device cpu -o fixed.onnx --json
echo "exit $?"
tpat fix $MODELS/small.onnx none.txt
echo "exit $?"
tpat fix missing.onnx
echo "exit $?"
tpat fix $MODELS/small.onnx log.txt --device tpu -o other.onnx
echo "exit $?"
tpat fix $MODELS/small.onnx log.txt --device cuda:x -o other.onnx
echo "exit $?"
ls other* 2>/dev/null
