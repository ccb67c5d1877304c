# A pipe, or a link to one, in the place of a file is refused and not waited for.
mkfifo pipe && ln -s pipe link.onnx && ln -s pipe x.npy
cp $MODELS/external.onnx . && mkfifo weights.bin
cp $MODELS/small.onnx .
unwaited() { timeout -k 1 10 "$@"; echo "exit $?"; }
unwaited tpat list pipe
unwaited tpat list link.onnx
unwaited tpat list external.onnx
unwaited tpat build small.onnx -t Softmax --db pipe --from-db-only --arch sm_90
unwaited tpat db list --db pipe
unwaited tpat db import --db new.db pipe
unwaited tpat db merge --db new.db pipe
ls -A
touch new.db; ln -s pipe new.db-journal
unwaited tpat db stats --db new.db
rm -f new.db*
unwaited tpat inspect pipe
unwaited tpat bench small.onnx -n probabilities -i logits=x.npy --device cpu
TPAT_NVRTC=pipe unwaited tpat build small.onnx -t Softmax --no-db
: | unwaited tpat list /dev/stdin
unwaited tpat list /dev/null
unwaited tpat list small.onnx < /dev/null | tail -n 1
