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
# Names of files: a wrong letter, no extension, no such folder, a folder, a build's folder, outputs that are no model.
cp $MODELS/small.onnx .
tpat list smal.onnx
tpat list small
tpat fix small.onnx lo.txt
tpat list models/small.onnx
tpat list .
tpat build small.onnx -t Relu --arch sm_90 -q -o out.onnx > messages.txt 2>&1
tpat inspect out.tpat/
tpat rebuild out.onnx
tpat kernel out.tpat
tpat list - < small.onnx
for output in out.so models.onnx/out.plan out.engine out.tpat; do tpat build small.onnx -t Relu -o $output; done
tpat build small.onnx --from y --to x
tpat build small.onnx --auto=fast --min-gain 0 --dry-run
tpat tune small.onnx -n activation --budget 1d
# Nodes, types and options under other names.
tpat build small.onnx activation
tpat build small.onnx --auto fast
for node in Relu 2 'act*' '#9'; do tpat build small.onnx -n "$node"; done
tpat build small.onnx -t activation
tpat list small.onnx -t relu > /dev/null
for option in --ops --batch --sm --target --tensorrt-version --plugin-name --rtol; do tpat build small.onnx $option 1; done
tpat verify out.onnx --rtol 1
tpat verify out.onnx --lib messages.txt
# A build's folder stands for its model. Its library is not replaced by that of another model.
tpat doctor out.tpat/
tpat build out.onnx -t Softmax --arch sm_90
tpat doctor out.onnx
# Words of other tools, engines and models of other tools, what no node makes, a pattern with a wrong letter.
for word in small.onnx convert trtexec simplify benchmark; do tpat $word small.onnx; done
printf '\200\001\002\003' > net.plan
cp net.plan net.pth
cp net.plan net.pb
for model in net.plan net.pth net.pb; do tpat list $model; done
mkdir saved && : > saved/saved_model.pb
tpat list saved
for node in x w; do tpat build small.onnx -n $node; done
tpat build small.onnx --pattern layernrom
tpat build small.onnx -t Softmax --except probabilities
tpat build small.onnx -n probabilities -p y=Mine
tpat build small.onnx -n probabilities --host arm64
tpat list small.onnx --shape x:1x3x4
tpat list small.onnx.dat
tpat fix small.onnx no.txt
tpat fix small.onnx models.onnx
tpat check-plugin small.onnx
