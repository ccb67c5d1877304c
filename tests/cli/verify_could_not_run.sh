tpat build $MODELS/small.onnx -t Softmax -o out.onnx > log || exit
CC=/none/cc tpat verify out.onnx --device cpu > log 2>&1
echo "exit code $?"
tail -n +2 log # after the processor's name
CC=/none/cc tpat verify out.onnx --device cpu --json | grep -E '"(lacks|lacking|failed|passed)"'
# A text that does not compile is the plugin's fault.
echo 'int x = ;' >> out.tpat/kernels/$(cd out.tpat/kernels && ls *.c | head -n 1)
tpat verify out.onnx --device cpu 2>&1 | grep -o 'FAIL tpat\|&&&&.*\|error: .*'
tpat verify out.onnx --device cpu > log 2>&1
echo "exit code $?"
