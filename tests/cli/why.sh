# The rules considered for a node's stages, their estimates, and why others do not apply; also in a build.
tpat list $MODELS/small.onnx --why probabilities --gpu T4
tpat list $MODELS/small.onnx --why product --json | python3 -c '
import json, sys
why, = json.load(sys.stdin)["why"]
print(why["node"], why["gpu"])
for stage in why["stages"]:
    print(stage["stage"], stage["made_with"], stage["text"])
    for rule in stage["rules"]:
        if rule["rule"] in ("contract", "contract_wide", "map", "reduce_thread"):
            print(" ", rule["rule"], rule["chosen"], rule["applies"], rule.get("why"), rule.get("ns", 0) > 0)
'
tpat list $MODELS/small.onnx --why nothing
echo "exit $?"
tpat list $MODELS/small.onnx --why bias --gpu "GTX 480" 2>&1 | head -n 1
tpat build $MODELS/small.onnx -n bias --arch compute_90 --explain -o out.onnx | sed -n '/scheduled/,/\* map/p'
tpat build $MODELS/small.onnx -n bias --arch compute_90 --explain --json -o out.onnx --force | python3 -c '
import json, sys
for plugin in json.load(sys.stdin)["plugins"]:
    for stage in plugin["why"]["stages"]:
        print(stage["text"], [rule["rule"] for rule in stage["rules"] if rule["chosen"]])
'
