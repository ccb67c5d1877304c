# Layers that differ only in their tensors share kernels, and keep their own arguments.
tpat build $MODELS/layers.onnx --all -o out.onnx --arch sm_90 --tactics 1 -q >/dev/null
sort out.tpat/kernels/*.cu | grep -c '^void'
tpat verify out.onnx --device cpu | tail -n 1
tpat verify out.onnx --device emulator | tail -n 1
