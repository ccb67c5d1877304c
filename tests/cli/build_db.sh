# A build takes from the tuning database what it can build again, and gives the same bytes each time.
model=$MODELS/small.onnx nodes=product,probabilities
build() { # NAME OPTION ...: what it says of plugins
	name=$1
	shift
	mkdir "$name"
	(cd "$name" && tpat build $model -n $nodes -o out.onnx --arch sm_90 -v "$@" > ../report && sed '/^wrote/,$d' ../report)
}
of() { # N MEMBER: of the n-th plugin
	tpat build $model -n $nodes -o json.onnx --arch sm_90 --no-db --json |
		python3 -c "import json, sys; print(json.load(sys.stdin)['plugins'][$1]['$2'])"
}
row() { # HASH DECISIONS NS SECOND
	printf '{"program":"%s","name":"-","shape":"8","arch":"sm_90","device":"GPU one","decisions":"%s",' "$1" "$2"
	printf '"status":"ok","ns":%s,"spread":0,"bytes":192,"floor_ns":1,"tpat":"0.1.0","when":"2026-01-31T12:00:%sZ"}\n' "$3" "$4"
}
product=$(of 0 hash)
[ "$(of 0 decisions)" != '0 reduce_lanes@2 32,1' ] || echo what the cost model decides anyway is no test
{
	echo '{"tpat_db":1}'
	row "$product" '0 reduce_lanes@2 32,1' 5000 01
	row "$product" '0 reduce_thread@0' 4000 02     # faster, but of an older rule
	row "$product" '0 reduce_lanes@2 33,1' 3000 03   # faster, but nothing that the rule would try
	row "$product" '0 map@1 4; rm -rf /' 2000 04
} > product.jsonl
tpat db import --db tuned.db product.jsonl
tuned=$PWD/tuned.db copy=$PWD/copy.db
build plain
build with --db "$tuned"
cmp -s plain/libtpat_out.so with/libtpat_out.so || echo another library
build one --db "$tuned" --profile x:8x4,8x4,8x4 > one.txt # what was tuned at one extent is taken at all
build without --db "$tuned" --no-db
cmp plain/libtpat_out.so without/libtpat_out.so && echo the same library
build only --db "$tuned" --from-db-only
ls only
{ echo '{"tpat_db":1}'; row "$(of 1 hash)" "$(of 1 decisions)" 6000 05; } > softmax.jsonl
tpat db import --db tuned.db softmax.jsonl
build once --db "$tuned" --from-db-only
tpat db export --db tuned.db > all.jsonl
tpat db import --db copy.db all.jsonl
build twice --db "$copy" --from-db-only > twice.txt
tail -2 twice.txt
diff -r once twice && echo the same bytes
build one_tuned --db "$tuned" --from-db-only --profile x:8x4,8x4,8x4 > one.txt
cmp one/libtpat_out.so one_tuned/libtpat_out.so && echo the same library
echo text > text.db
build warned --db "$PWD/text.db"
build missing --db "$PWD/missing.db" --from-db-only
tpat build $model -n product --no-db --from-db-only
