# Names that mean something to a shell, to make, to trtexec or to C come through whole.
tpat list $MODELS/odd_names.onnx
tpat build $MODELS/odd_names.onnx -t Softmax,Relu -o "a b'ö\$#%s.onnx" --arch sm_90 > log || exit
sed -n '/^wrote/,$p' log
trtexec() { printf '<%s>\n' "$@"; }
eval "$(sed -n 's/^next: //; /^trtexec/,/Cache/p' log)"
make -s -C *.tpat && tpat inspect *.tpat/*.so | tail -n 1
tpat verify *.onnx --device cpu | tail -n 1
tpat build $MODELS/odd_names.onnx -n "a, 'b' \$(c) */ %s #" -o out.onnx
