# Edited kernels: make reports them and stops; tpat rebuild compiles them and replaces the library.
{
tpat build $MODELS/small.onnx -t Softmax,Relu -o out.onnx --arch sm_90 > log || exit
cp libtpat_out.so before.so
tpat rebuild out.tpat
cmp libtpat_out.so before.so && echo same
cd out.tpat/kernels && mv tpat_softmax_*.cu x && sed 's/expf\?(/1.5f * &/' x > $(basename $(ls *softmax*.cpu.c) .cpu.c).cu && rm x && cd ../..
make -s -C out.tpat unedited 2>&1 | grep -v '^make'
tpat doctor .
tpat rebuild out.tpat
cmp -s libtpat_out.so before.so || echo differs
make -s -C out.tpat && tpat inspect out.tpat/libtpat_out.so | tail -n 1
tpat doctor out.onnx
(cd out.tpat && tpat rebuild . | sed "s|$PWD|PWD|; s|$(dirname "$PWD")|..|")
# A kernel that does not compile changes nothing.
cp libtpat_out.so before.so
echo 'broken' >> out.tpat/kernels/tpat_types.h
tpat rebuild -j 1 out.tpat 2> error
echo "exit $?"
cut -d '(' -f 1 error | head -n 1
cmp libtpat_out.so before.so && echo same
ls -A
tpat rebuild missing.tpat
tpat rebuild .
} 2>&1 | sed -E "s/_[0-9a-f]{8}/_HASH/g"
