# A profile tuned at several extents has kernels for each in the library.
model=$MODELS/small.onnx
hash=$(tpat build $model -n product -o json.onnx --tactics 1 --arch sm_90 --no-db --json | python3 -c "
import json, sys; print(json.load(sys.stdin)['plugins'][0]['hash'])")
row() { # EXTENTS DECISIONS
	printf '{"program":"%s","name":"-","shape":"%s","arch":"sm_90","device":"H100 SXM","decisions":"%s",' "$hash" "$1" "$2"
	printf '"status":"ok","ns":5000,"spread":0,"bytes":192,"floor_ns":1,"tpat":"0.1.0","when":"2026-01-31T12:00:00Z"}\n'
}
{ echo '{"tpat_db":1}'; row 8 '0 reduce_thread@1'; row 512 '0 reduce_lanes@2 32,1'; row 64 '0 reduce_lanes@2 32,1'; } > rows.jsonl
tpat db import --db tuned.db rows.jsonl
kernels() { tpat build $model -n product -o out.onnx --tactics 1 --arch sm_90 --db tuned.db --dump cuda "$@" | grep -e Schedule: -e schedules:; }
kernels --profile x:1x4,8x4,512x4
kernels --profile x:1x4,8x4,256x4
kernels
