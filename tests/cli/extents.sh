# Kernels for the extents of a profile, told apart at run time; and for open extents without one.
schedules() { grep -h "^// Schedule" $1.tpat/kernels/*.cu | grep -v 64-bit; }
borders() { grep -ho "/\* [NM ()*,min0-9]* <= [0-9]* \*/" $1.tpat/plugins/*.h | grep -v 2146435071; }
tpat build $MODELS/totals.onnx -n total -o wide.onnx --tactics 1 --arch compute_90 --profile x:1x16,16x256,2048x2048 > log || exit
schedules wide
borders wide
for shape in 1x1 1x64 64x65 65x64 200x1000; do
	tpat verify wide.onnx --device cpu -s x:$shape --runs 1 | tail -n 1
done
echo one:
tpat build $MODELS/totals.onnx -n total -o one.onnx --tactics 1 --arch compute_90 --profile x:16x256,16x256,16x256 > log || exit
schedules one
borders one
echo usual:
tpat build $MODELS/totals.onnx -n rows -o rows.onnx --tactics 1 --arch compute_90 > log || exit
schedules rows
borders rows
for shape in 3x5 300x3 2x300 2x1500; do
	tpat verify rows.onnx --device cpu -s x:$shape --runs 1 | tail -n 1
done
