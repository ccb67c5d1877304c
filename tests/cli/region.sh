# Several nodes as one plugin; and a plugin's name.
tpat build $MODELS/small.onnx --region bias,activation,probabilities --name bias..probabilities=Head -o out.onnx --arch sm_90 -v > log || exit
sed -n 1,3p log
tpat verify out.onnx --device cpu | tail -n 1
tpat build $MODELS/small.onnx --region product,activation -o hole.onnx
