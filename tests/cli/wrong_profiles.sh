# Profiles and extents that do not fit.
for profile in y:1x4,2x4,4x4 x:1x4,2x4 x:2x4,1x4,4x4 x:1x5,2x5,4x5 x:Nx4,2x4,4x4 x:1,2,4; do
	tpat build $MODELS/small.onnx -t Softmax -o out.onnx --profile $profile
	echo "exit $?"
done
for shape in x:2x5 x:0x-4 x:99999999999999999999x4 x:2 y:2x3 nothing; do
	tpat build $MODELS/small.onnx -t Softmax -o out.onnx --shape $shape
	echo "exit $?"
done
ls
