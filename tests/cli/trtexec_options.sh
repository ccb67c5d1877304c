# Options of trtexec lead to those of tpat.
M=$MODELS/small.onnx
tpat --onnx=$M
tpat $M
tpat build --onnx=$M
tpat build $M --shapes=x:1x4
tpat build $M --minShapes=x:1x4 --optShapes=x:2x4 --maxShapes=x:3x4
tpat list $M --minShapes=x:1x4
tpat run $M --loadInputs=x:x.bin
tpat fix $M --saveEngine=x.plan
tpat verify $M --dynamicPlugins=libx.so
tpat build $M --fp16
tpat build $M --useCudaGraph
tpat build $M --aut=fast
