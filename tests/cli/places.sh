# Places for temporary files that cannot be used, and a limit on the size of files: other places, and an error.
tpat build $MODELS/small.onnx -n probabilities --arch sm_90 -o out.onnx > /dev/null || exit
TMPDIR=$PWD/nowhere tpat verify out.onnx --device cpu --runs 1 | tail -n 1
mkdir place
TMPDIR=$PWD/place tpat verify out.onnx --device cpu --runs 1 | tail -n 1
ls -A place
(ulimit -f 20; tpat build $MODELS/small.onnx -n probabilities --arch sm_90 -o small.onnx 2> log)
echo $?
grep -c 'File too large' log
# A home that cannot have the tuning database.
touch home
HOME=$PWD/home tpat tune $MODELS/small.onnx -n probabilities --device cpu --trials 1 --shape x:2x4
