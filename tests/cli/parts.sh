# A plugin with many kernels has several texts, each compiled and rebuilt by itself.
tpat build $MODELS/deep.onnx --from x0 --to x30 -o out.onnx --arch sm_90 -q >/dev/null
ls out.tpat/kernels/tpat_region*.cu out.tpat/code/*.cubin | sed 's/_[0-9a-f]\{8\}\./_HASH./'
grep -c '^CODE += ' out.tpat/Makefile
grep -o '"cuda_parts": [0-9]*' out.tpat/tpat.json
tpat inspect libtpat_out.so | grep -c 'code.*sm_90'
tpat verify out.onnx --device cpu | tail -n 1
echo '// edited' >> "$(ls out.tpat/kernels/tpat_region*.2.cu)"
tpat rebuild out.tpat | sed 's/_[0-9a-f]\{8\}\./_HASH./'
tpat verify out.onnx --device emulator --runs 1 | tail -n 1
