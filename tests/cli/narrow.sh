# Types narrower than a byte, and float8e8m0: what a plugin's edge can have of them, and what only its inside can.
tpat list $MODELS/narrow.onnx
tpat build $MODELS/narrow.onnx -n to_int4,from_int4,to_float4,from_float4 --arch compute_90 -o edge.onnx > log
echo "exit $?"
tpat verify edge.onnx --device cpu | sed "1d; s/_[0-9a-f]\{8\}/_HASH/g"
tpat build $MODELS/narrow.onnx -n from_uint2 -o out.onnx
echo "exit $?"
tpat build $MODELS/narrow.onnx -n to_power -o out.onnx
echo "exit $?"
tpat build $MODELS/narrow.onnx --region to_uint2,from_uint2 --region to_power,from_power --arch compute_90 -o inside.onnx > log
echo "exit $?"
tpat verify inside.onnx --device cpu | sed "1d; s/_[0-9a-f]\{8\}/_HASH/g"
