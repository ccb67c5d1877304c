# Names that mean something to a kernel's language, to its headers or to the kernel itself: NVRTC and the C compiler take them.
tpat build $MODELS/reserved_names.onnx --region joined,added,softened -o out.onnx --arch sm_90 --name joined..softened=Reserved > log || exit
sed -n 2p log
tpat verify out.onnx --device cpu | tail -n 1
