# Names that mean something to a kernel's language, to its headers or to the kernel itself: NVRTC and both compilers take them.
tpat build $MODELS/reserved_names.onnx --region joined,added,softened -o out.onnx --arch sm_90 --name joined..softened=Reserved > log || exit
sed -n 2p log
tpat verify out.onnx --device cpu | tail -n 1
tpat verify out.onnx --device emulator --runs 1 | tail -n 1
