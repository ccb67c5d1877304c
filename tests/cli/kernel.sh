# Edit a kernel, run it, ship it: tpat kernel and tpat rebuild --kernel.
tpat build $MODELS/small.onnx -t Softmax,Relu -o out.onnx --arch sm_90 > log 2>&1 || exit
cp libtpat_out.so before.so
text=$(ls out.tpat/kernels/*softmax*.cu)
{
echo '-- as it is'
tpat kernel $text -d emulator
echo '-- a copy with other results: the folder or the plugin must be known'
sed 's|/ row_exp_sum|/ row_exp_sum + (lane == 1 ? 0.25f : 0.0f)|' $text > wrong.cu
cmp -s $text wrong.cu && echo 'the edit did nothing'
tpat kernel wrong.cu -d emulator
tpat kernel wrong.cu -f out.tpat -d emulator
tpat kernel wrong.cu -f out.tpat -n nothing -d emulator
tpat kernel wrong.cu -f out.tpat -n probabilities -d emulator --shape x:2x4 --runs 1
tpat kernel wrong.cu -f out.tpat -n probabilities -d emulator --runs 1 > result
sed -n '1p;/differ/p;/around/p;s/got .*/got/p;/wrote/p' result
rm -f tpat_softmax_*.npz
echo '-- accesses out of bounds'
sed 's/input\[row \* 3 + at\]/input[row * 3 + at + 40]/' $text > far.cu
tpat kernel far.cu -f out.tpat -n probabilities -d emulator | sed -n 's/.*enqueue: //p'
echo '-- a text without a kernel that the plugin launches, one of another plugin, one that does not compile'
sed 's/softmax_output(/other(/' $text > lacks.cu
tpat kernel lacks.cu -f out.tpat -n probabilities -d emulator
tpat kernel out.tpat/kernels/*relu*.cu -f out.tpat -n probabilities -d emulator
echo 'broken' | cat $text - > broken.cu
tpat kernel broken.cu -f out.tpat -n probabilities -d emulator 2>&1 | grep -c FAIL
tpat kernel missing.cu -d emulator
tpat kernel $text -d cpu
echo '-- a good one: the library then contains it'
sed 's/^extern "C" __global__/extern "C" __device__ const char edited_marker[] = "this kernel was edited by hand";\n&/;t' $text |
	awk '!(/edited_marker/ && seen++)' > good.cu
tpat kernel good.cu -f out.tpat -n probabilities -d emulator --time 2 | sed -E 's/[0-9.]+ us \(spread [0-9.]+%\)/T us/'
cmp libtpat_out.so before.so && cmp -s good.cu $text || echo 'nothing was changed'
tpat rebuild out.tpat --kernel probabilities=good.cu
cmp -s good.cu $text && echo 'the folder has it'
for library in before.so libtpat_out.so; do
	grep -c 'this kernel was edited by hand' $library
done
tpat doctor out.onnx
tpat verify out.onnx -d emulator --runs 1 | tail -n 1
echo '-- an edited kernel that these shapes do not launch; the plugin by an output, and by its index in the rewritten model'
sed 's|softmax_output_64(.*|& // edited|' $text > large.cu
tpat kernel large.cu -f out.tpat -n y -d emulator --runs 1
tpat kernel large.cu -f out.tpat -n '#3' -d emulator --runs 1 | head -n 1
echo '-- in place, and from inside the folder'
(cd out.tpat/kernels && tpat kernel *softmax*.cu -d emulator | tail -n 1)
(cd out.tpat && tpat kernel kernels/*softmax*.cu -d emulator --json | grep -E '"(passed|plugin|folder|near)"')
echo '-- refused rebuilds change nothing'
cp libtpat_out.so before.so
tpat rebuild out.tpat --kernel lacks.cu
tpat rebuild out.tpat --kernel probabilities=lacks.cu
tpat rebuild out.tpat --kernel probabilities=good.cu --kernel probabilities=wrong.cu
tpat rebuild out.tpat -j 1 --kernel probabilities=broken.cu | cut -d '(' -f 1 | head -n 1
cmp libtpat_out.so before.so && cmp good.cu $text && echo same
echo '-- a library for each plugin'
tpat build $MODELS/small.onnx -t Softmax,Relu -o split.onnx --arch sm_90 --split > log 2>&1 || exit
tpat kernel split.tpat/tpat_softmax_*/kernels/*softmax*.cu -d emulator
tpat kernel good.cu -f split.tpat -n probabilities -d emulator
} 2>&1 | sed -E "s/_[0-9a-f]{8}/_HASH/g; s|$PWD|PWD|"
