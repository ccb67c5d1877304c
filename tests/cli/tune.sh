tpat tune $MODELS/small.onnx -d cpu -n product -s x:64x4 --trials 2 -j 1 --db t.db
tpat tune $MODELS/small.onnx -d cpu -n product -s x:64x4 -j 1 --db t.db --json > first.json && python3 -c "import json; t=json.load(open('first.json'))['tuned'][0]; print(t['known'], t['trials'] > 0, t['ns'] <= t['before_ns'], t['end'])"
tpat db list --db t.db | wc -l
tpat tune $MODELS/small.onnx -d cpu -n nothing --db t.db
tpat tune $MODELS/small.onnx --budget soon
