# Files of other kinds are recognised, as are options of Polygraphy and onnxsim, and numbers of a compute capability.
printf '\200\002}q' > model.pt
printf '\034\000\000\000TFL3..' > model.tflite
printf '\010\000\000\000\000\000\000\000{"w":{}}' > model.safetensors
printf 'GGUF....' > model.gguf
printf '\177ELF....' > lib.so
for file in model.pt model.tflite model.safetensors model.gguf lib.so; do tpat list $file; done
tpat build "$MODELS/small.onnx" --trt-min-shapes 'x:[1,4]'
tpat build "$MODELS/small.onnx" --overwrite-input-shape x:1,4
tpat run "$MODELS/small.onnx" --load-inputs inputs.json
tpat build "$MODELS/small.onnx" --all --arch 9.0
