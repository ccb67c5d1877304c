# Control characters in names come out as \x1b and the like, and such names are understood both as they are and as they are printed.
model=$MODELS/control_names.onnx
tpat list $model
tpat build $model -n 'w\r' -o out.onnx
tpat build $model -n last -o out.onnx
tpat build $model -n "$(printf 're\302\233lu')" -t Softmax -o out.onnx --arch compute_90 -v > log || exit
cat log
bash -c "trtexec() { printf '<%s>\\n' \"\$@\"; }; $(sed -n 's/^next: //; /^trtexec/,/Cache/p' log)" | grep -c "$(printf '<--minShapes=x\033.2J:1x4>')"
tpat verify out.onnx --device cpu | sed "1d; s,: max.*,,"
tpat bench $model -d cpu -t Softmax --repeats 1 | sed -n 2p | cut -d ' ' -f 3
