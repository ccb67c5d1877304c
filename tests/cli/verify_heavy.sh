# Fixed shapes that take many operations are run once, unless --runs says otherwise.
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 --name probabilities=MySoftmax > log || exit
elements() { tpat verify out.onnx --device cpu --json "$@" | python3 -c "import json, sys; print(json.load(sys.stdin)['checks'][0]['elements'])"; }
elements --shape positive:200x3
elements --shape positive:1500000x3
elements --shape positive:1500000x3 --runs 2
