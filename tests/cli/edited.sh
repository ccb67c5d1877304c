# Building again does not delete what somebody did in the folder; --force does.
build() { tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 "$@" > log; echo "exit $?"; }
build
make -s -C out.tpat
build
echo '// mine' >> out.tpat/README.md
echo notes > out.tpat/kernels/notes
cp libtpat_out.so before.so
build
cmp libtpat_out.so before.so && cat out.tpat/kernels/notes && tail -n 1 out.tpat/README.md
build --force
ls out.tpat/kernels | grep notes
sed -i 's/"files"/"other"/' out.tpat/tpat.json
build
ls -A
