# The tuning database: texts in and out, what is tuned, joining two, throwing away.
line() { # PROGRAM NAME SHAPE DEVICE DECISIONS STATUS NS SECOND
	printf '{"program":"%s","name":"%s","shape":"%s","arch":"sm_90","device":"%s","decisions":"%s","status":"%s",' "$1" "$2" "$3" "$4" "$5" "$6"
	printf '"ns":%s,"spread":0.01,"bytes":24576,"floor_ns":8192,"tpat":"0.1.0","when":"2026-01-31T12:00:%s"}\n' "$7" "$8Z"
}
relu=00112233445566778899aabbccddeeff mean=0123456789abcdef0123456789abcdef
{
	echo '{"tpat_db":1}'
	line $mean 'mean(x: f32[N,768])' 8 'GPU one' '0 reduce_thread@1' ok 12000 01
	line $mean 'mean(x: f32[N,768])' 8 'GPU one' '0 reduce_thread@0' ok 9000 02
	line $mean 'mean(x: f32[N,768])' 64 'GPU one' '0 reduce_thread@1' crashed 0 03
	line $relu 'relu(x: f32[4])' '' 'GPU one' '0 scatter@2 1' ok 10240.5 04
	line $relu 'relu(x: f32[4])' '' 'GPU one' '0 scatter@2 1; 1 scatter@2 1' wrong 0 05
} > one.jsonl
{ echo '{"tpat_db":1}'; line $relu 'relu(x: f32[4])' '' 'GPU two' '0 scatter@2 1' ok 8200 06; } > two.jsonl
tpat db import --db one.db one.jsonl
tpat db import --db two.db two.jsonl
tpat db list --db one.db
tpat db merge --db one.db two.db
tpat db merge --db one.db two.db two.db
tpat db list --db one.db --device 'GPU two' --json
tpat db stats --db one.db | sed 's/: [0-9]* bytes/: many bytes/'
tpat db export --db one.db --output all.jsonl
TPAT_DB=again.db tpat db import all.jsonl
TPAT_DB=again.db tpat db export | cmp - all.jsonl && echo same
tpat db export --db one.db --device 'GPU two' | cmp - two.jsonl && echo same
tpat db prune --db one.db
tpat db prune --db one.db --keep 1
tpat db list --db one.db
XDG_CACHE_HOME=$PWD/cache tpat db import two.jsonl
ls cache/tpat
