# build --debug-kernels: kernels that name positions out of bounds, with line numbers.
{
tpat build $MODELS/small.onnx -t Softmax,Relu -o out.onnx --arch sm_90 > log 2>&1 || exit
tpat build $MODELS/small.onnx -t Softmax,Relu -o debug.onnx --arch sm_90 --debug-kernels > log 2>&1 || exit
text=$(ls debug.tpat/kernels/*softmax*.cu)
grep -c 'TPAT_AT' out.tpat/kernels/*.cu | sed 's/.*://' | paste -sd ' '
grep 'TPAT_AT' $text | head -n 1
for code in out.tpat/code/*.cubin debug.tpat/code/*.cubin; do
	grep -c '\.debug_line' $code
done | paste -sd ' '
sed -n 's/^NVCCFLAGS//p' out.tpat/Makefile debug.tpat/Makefile
echo '-- different names, so that both libraries can be loaded'
for library in libtpat_out.so libtpat_debug.so; do tpat inspect $library | grep -o 'tpat_softmax_[0-9a-f]*' | head -n 1; done | sort -u | grep -c .
echo '-- the same results'
tpat verify debug.onnx -d emulator | tail -n 1
tpat verify debug.onnx -d cpu | tail -n 1
echo '-- a load and a store out of bounds'
sed 's/row \* 3 + at,/row * 3 + at + 40,/' $text > load.cu
cmp -s load.cu $text && echo 'the edit did nothing'
tpat kernel load.cu -f debug.tpat -n probabilities -d emulator | sed -n 's/.*enqueue: //p'
sed 's/output + TPAT_AT(\([a-z_0-9]*\), output, /output + TPAT_AT(\1, output, -1 - /; s/output\[TPAT_AT(\([a-z_0-9]*\), output, /output[TPAT_AT(\1, output, -1 - /' $text > store.cu
cmp -s store.cu $text && echo 'the edit did nothing'
tpat kernel store.cu -f debug.tpat -n probabilities -d emulator | sed -n 's/.*enqueue: //p'
echo '-- edited and built again: NVRTC compiles it, and the lines stay'
tpat rebuild debug.tpat --kernel probabilities=load.cu
grep -c '\.debug_line' debug.tpat/code/*softmax*.cubin
grep -c 'is out of bounds' libtpat_debug.so
} 2>&1 | sed -E "s/_[0-9a-f]{8}/_HASH/g"
