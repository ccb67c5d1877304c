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
# Compressed, encrypted, empty and interrupted downloads, and texts.
printf '\037\213....' > model.gz
printf '\3757zXZ\000' > model.xz
printf 'Salted__........' > model.enc
printf '....ORTM....' > model.ort
: > empty.onnx
head -c 100 /dev/zero > zeros.onnx
printf '\n  <HTML lang="en">' > page.onnx
printf 'ir_version: 8\n' > text.onnx
printf '{"message": "Not Found"}\n' > answer.onnx
printf 'import onnx\nmodel = onnx.load("a")\n' > script.py
for file in model.gz model.xz model.enc model.ort empty.onnx zeros.onnx page.onnx text.onnx answer.onnx script.py; do
	tpat list $file 2>&1 | tail -n 1
done
# A log in UTF-16, as PowerShell writes one, and a file that is no log.
printf '[I] caf\303\251 \360\237\230\200\r\n[E] Error[10]: Could not find any implementation for node activation.\r\n' |
	iconv -f UTF-8 -t UTF-16 > powershell.txt
tpat doctor powershell.txt
tpat list $MODELS/small.onnx --engine-report powershell.txt | grep -a 'Refused in'
printf 'ftrt\001\000\000\000....' > model.plan
tpat doctor model.plan
