# A folder says which engine it is for; one of an engine that this tpat lacks is left alone.
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 > log || exit
grep '"engine"' out.tpat/tpat.json
sed -i 's/"engine": "[^"]*"/"engine": "Another"/' out.tpat/tpat.json
cp libtpat_out.so before.so
tpat rebuild out.tpat
echo "exit $?"
cmp libtpat_out.so before.so
tpat doctor out.onnx | grep Another
sed -i '/"engine"/d' out.tpat/tpat.json
tpat rebuild out.tpat > log
