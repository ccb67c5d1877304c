# TPAT's command line: short and long names, values after = or a space, several names, a dictionary in the text or a file.
tpat onnx2plugin -i $MODELS/small.onnx -o a.onnx -n product probabilities -p '{"probabilities": "my_softmax"}' -dynamic=true \
	-min=1 -max=256 -opt=64 --arch sm_90 -q
echo '{"probabilities": "from_file"}' > names.json
ln -s "$(command -v tpat)" onnx2plugin
./onnx2plugin --input_model_path $MODELS/small.onnx --output_model_path=b.onnx --node_types Softmax -p names.json \
	-dynamic=false --arch sm_90 -q
tpat inspect libtpat_a.so | grep -c my_softmax
tpat inspect libtpat_b.so | grep -c from_file
tpat onnx2plugin -i $MODELS/small.onnx -n product -dynamic=perhaps; echo "exit $?"
tpat onnx2plugin -i $MODELS/small.onnx -n product -dynamic -min 5 -opt 2; echo "exit $?"
tpat onnx2plugin -i $MODELS/small.onnx -n product -p '{"product": 3}'; echo "exit $?"
tpat onnx2plugin -i $MODELS/small.onnx -n product -p none.json; echo "exit $?"
tpat onnx2plugin -n product; echo "exit $?"
tpat onnx2plugin --help
# A list ends at the next option; an empty one is none.
tpat onnx2plugin -i $MODELS/small.onnx -o c.onnx -n -t Softmax --arch sm_90 -q && tpat inspect libtpat_c.so | grep -c 'version "1"'
tpat onnx2plugin -i $MODELS/small.onnx -n product -dynamic -min 0; echo "exit $?"
