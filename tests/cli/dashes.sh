# Names that begin with "-", hold what shells, make and linkers read, or are "-" alone.
cp $MODELS/small.onnx ./-m.onnx
mkdir ./-h
build() { tpat build -t Softmax --arch sm_90 "$@" > log; echo "exit $?"; grep -h ^next: log; }
build -o -h/out.onnx -- -m.onnx
build -o -o.onnx -- -m.onnx
build -o "%s, 'a':\"b\" \$HOME.onnx" ./-m.onnx
cd ./-h
build -o ../-h/out.onnx ../-m.onnx
cd ..
for folder in ./*.tpat ./-h/*.tpat; do make -s -C "$folder" && tpat inspect "$folder"/libtpat*.so | tail -n 1; done
tpat verify --device cpu -- -o.onnx | tail -n 1
ls -A
build -o - ./-m.onnx
build -o "$(printf 'a\nb.onnx')" ./-m.onnx
tpat list -
