# Inputs with an initializer are constants, as in TensorRT; tpat run takes other values for them.
tpat list $MODELS/defaults.onnx | sed -n 2,7p
tpat build $MODELS/defaults.onnx -t Erf,MatMul,Reshape -o out.onnx --arch compute_90 | grep Shapes=
tpat list out.onnx | sed -n 2,3p
tpat run $MODELS/defaults.onnx -s x:2x4 --value w=0,0,0,0,0,0,0,0,0,0,0,0 -o zero.npz > log && tail -n 1 log
tpat run $MODELS/defaults.onnx -s x:2x4 -o one.npz > log
tpat run $MODELS/defaults.onnx -s x:2x4 -i w=one.npz
echo "exit $?"
