# Times of a whole model and of its launches.
tpat run $MODELS/small.onnx -s x:3x4 --time 3 --profile --profile-out trace.json
cut -c 1-24 trace.json | head -4
python3 -c 'import json; print({event["ph"] for event in json.load(open("trace.json"))} == {"M", "X"})'
