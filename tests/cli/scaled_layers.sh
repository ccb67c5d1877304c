# Layers that also differ in scales, zero points and slopes share kernels, to which these numbers are passed.
tpat build $MODELS/scaled_layers.onnx --all -o out.onnx --arch sm_90 -q >/dev/null
sort out.tpat/kernels/*.cu | grep -c '^void'
cat out.tpat/kernels/*.cu | tr '\n' ' ' | grep -o '__global__ [^{]*{' | grep -c 'const float scale'
tpat verify out.onnx --device cpu | tail -n 1
tpat verify out.onnx --device emulator | tail -n 1
