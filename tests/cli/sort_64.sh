# NVRTC compiles the passes of a radix sort by keys of 64 bits for the newest GPUs, too.
tpat build $MODELS/sort_64.onnx -t Unique --gpu B200 --arch sm_100 --tactics 1 -o out.onnx -q | tail -n 0
tpat verify out.onnx --device cpu | tail -n 1
