# A wrong kernel of an inner stage: the dump has the stages of both, and the first difference is found there.
tpat build $MODELS/small.onnx -r product,bias,activation,probabilities -o out.onnx --arch sm_90 --namespace x > log || exit
sed -i -E 's/(row_y_2 = .*);/\1 + (row == 4 ? 0.5f : 0.0f);/' out.tpat/kernels/*.cpu.c
tpat verify out.onnx --device cpu --runs 1 > out || echo "exit $?"
grep -A3 'first difference' out | sed -E 's/-?[0-9]+\.[0-9]+(e-?[0-9]+)?/NUMBER/g; s/tpat_[a-z_]*[0-9a-f]{8}/PLUGIN/g'
python3 -c "
import glob, io, zipfile
print(sorted(zipfile.ZipFile(glob.glob('*.npz')[0]).namelist()))"
