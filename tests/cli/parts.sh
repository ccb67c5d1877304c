# A plugin with many kernels has several texts, each compiled and rebuilt by itself.
tpat build $MODELS/deep.onnx --from x0 --to x30 -o out.onnx --arch sm_90 -q >/dev/null
ls out.tpat/kernels/tpat_region*.cu out.tpat/code/*.cubin | sed 's/_[0-9a-f]\{8\}\./_HASH./'
grep -c '^CODE += ' out.tpat/Makefile
grep -o '"cuda_parts": [0-9]*' out.tpat/tpat.json
# each kernel is in the text that its row names
awk '/\.name = /{split($0, q, "\""); name = q[2]; part = 1}
     /\.part = /{part = $0; sub(/.*\.part = /, "", part); part = part + 1}
     /\.cpu = /{print name, part > "rows"}' out.tpat/plugins/tpat_region*.h
for file in out.tpat/kernels/tpat_region*.cu; do
	part=$(echo "$file" | sed -n 's/.*\.\([0-9]*\)\.cu$/\1/p')
	sed -n "s/^void \([a-z0-9_]*\)(.*/\1 ${part:-1}/p" "$file"
done > texts
sort -u rows > rows.sorted
sort texts | diff - rows.sorted && cut -d ' ' -f 2 rows.sorted | sort | uniq -c | awk '$1 > 1 { print "part", $2, "has kernels" }'
tpat inspect libtpat_out.so | grep -c 'code.*sm_90'
tpat verify out.onnx --device cpu | tail -n 1
echo '// edited' >> "$(ls out.tpat/kernels/tpat_region*.2.cu)"
tpat rebuild out.tpat | sed 's/_[0-9a-f]\{8\}\./_HASH./'
tpat verify out.onnx --device emulator --runs 1 | tail -n 1
