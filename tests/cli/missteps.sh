# What a new user types wrong, each with the next step: one dash for two, a log before the model, no shape, a model of
# which nothing is refused, outputs of another shape, a model without plugins.
tpat build $MODELS/small.onnx -arch sm_90 -n activation
tpat build $MODELS/small.onnx -auto
tpat build $MODELS/small.onnx -z
tpat onnx2plugin -i $MODELS/small.onnx -o out.onnx -n activation -arch sm_90 --dry-run | head -n 1
tpat build $MODELS/small.onnx --auto --arch sm_90
echo '[E] Error' > log.txt
tpat fix log.txt $MODELS/small.onnx
tpat run $MODELS/small.onnx
tpat run $MODELS/small.onnx --shape x:2x4 -o two.npz > ran.txt
tpat run $MODELS/small.onnx --shape x:3x4 --expect two.npz | tail -n 1
tpat doctor $MODELS/small.onnx
# Several values after one option.
tpat build $MODELS/small.onnx -n product probabilities
tpat build -n product probabilities $MODELS/small.onnx
tpat run $MODELS/small.onnx --shape x:2x4 y:2x4
tpat run $MODELS/small.onnx --input x=x.npy,y=y.npy
tpat list $MODELS/small.onnx --value x=1,y=2
