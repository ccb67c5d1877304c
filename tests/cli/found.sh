# Sizes that are found at run time: the plugin says them as further outputs, and so does the function that stands for it.
root=${MODELS%/build/tests/models}
tpat list $MODELS/found.onnx | cut -c1-100
tpat build $MODELS/found.onnx -n search,keep -o one.onnx --arch compute_90 --dump prune > log || exit
sed -n '/^program/,/^$/p' log
tpat verify one.onnx --device cpu --runs 6 | tail -n 1
$root/build/venv/bin/python $root/tools/demo-check.py $MODELS/found.onnx one.onnx 4 | grep -c bit-equal
tpat build $MODELS/found.onnx --region compare,search,points,pick,twice,sum -o all.onnx --arch compute_90 -v | sed -n 1,3p
tpat verify all.onnx --device cpu --runs 6 | tail -n 1
$root/build/venv/bin/python $root/tools/demo-check.py $MODELS/found.onnx all.onnx 4 | grep -c bit-equal
# Inside of one plugin the number needs no output.
tpat build $MODELS/found.onnx --region compare,search,points,pick -n sum -o pick.onnx --arch compute_90 -v | sed -n 1,4p
tpat verify pick.onnx --device cpu --runs 6 | tail -n 1
grep -h TPAT_RT_SIZE *.tpat/plugins/*.h | sed 's/.*TPAT_RT_SIZE/SIZE/'
