# Quantised weights that several nodes read, or few numbers, are bytes in the plugins' sums. Nodes outside keep them.
tpat build $MODELS/shared_weights.onnx -r first,a,a8 -o one.onnx --arch sm_90 --dump unscale -q | grep " sum "
tpat list one.onnx | grep "kernel\|plugin"
tpat verify one.onnx -d cpu | tail -n 1
tpat build $MODELS/shared_weights.onnx -r first,a,a8 -r second,b,b8,images,rows,c,c8,third,d,y -o both.onnx --arch sm_90 --dump unscale -q | grep " sum "
tpat list both.onnx | grep "kernel\|matrix\|turned"
tpat verify both.onnx -d cpu | tail -n 1
