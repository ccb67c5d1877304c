# Formats that the estimate chooses: those of the convolutions around a plugin, and none for one that meets no convolution.
model=$MODELS/between_convolutions.onnx
tpat build $model --region gate,times -n soft,update --format auto --in-place -o out.onnx --arch compute_90 --no-db -v > log || exit
grep -A2 -e "(positive:" -e "(input:" -e "(data:" log | sed "s/^  tpat_[a-z_]*_[0-9a-f]*  //"
tpat inspect libtpat_out.so | grep -e computes -e formats -e "in place"
tpat inspect --json libtpat_out.so | python3 -c "import json, sys
for p in json.load(sys.stdin)['plugins']: print(p['formats'], p['in_place'])"
# Versions that know no formats get none; a named format is always there.
tpat build $model --region gate,times --format auto --tensorrt 8.6 -o old.onnx --arch compute_90 --no-db -q || exit
tpat inspect libtpat_old.so | grep -c formats
tpat build $model --region gate,times --format auto,chw32 -o both.onnx --arch compute_90 --no-db -q || exit
tpat inspect libtpat_both.so | grep -A1 formats
# The page says what was weighed, and the next commands have the options.
tpat report $model --region gate,times -n soft,update --format auto --in-place --no-db -o page.html || exit
sed -n -e "s/<p>\(HWC8: its kernels\) take [0-9.]* us, \(.*\) [0-9.]* us\. /\1 take TIME us, \2 TIME us. /p" \
	-e "s/<p>\(It also takes the formats\) \(.*\) ([0-9.]* us); row-major [0-9.]* us\..*/\1 \2/p" -e "s/<p>\(Its output .*\)<.*/\1/p" \
	-e "s/.*\(tpat [bt][a-z]* .*--format\)/\1/p" page.html | sed -e "s,$MODELS,MODELS," -e "s,</p>,,"
# A program with tensors in a format is another one, and is tuned, too.
tpat tune $model --region gate,times -n soft --format auto --device cpu --shape image:1x3x16x16 --trials 1 --budget 1s --db t.db -q --json |
	python3 -c "import json, sys
for r in json.load(sys.stdin)['tuned']: print(r['node'], r['format'], r['error'])"
tpat build $model -n soft --format hwc9 -o wrong.onnx
