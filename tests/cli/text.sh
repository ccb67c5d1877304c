# A model that is wrong is refused with a sentence, and nothing is written.
tpat list $MODELS/text.onnx
echo "exit $?"
tpat build $MODELS/text.onnx -t MatMul,Add,Relu,Softmax -o out.onnx
echo "exit $?"
ls
# The text is quoted in whole characters, up to the first byte that is none.
printf '\346\250\241\345\236\213\344\270\213\350\275\275\345\244\261\350\264\245\357\274\214\350\257\267\347\250\215\345\220\216\345\206\215\350\257\225\343\200\202' > chinese.onnx
printf 'caf\351 au lait' > latin.onnx
for model in chinese latin; do tpat list $model.onnx 2>&1 | tail -n 1; done
