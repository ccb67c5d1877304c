# Tuning needs a GPU, which is hidden here; a build without it does not.
export CUDA_VISIBLE_DEVICES=
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 --tune --budget 5s 2>&1 | sed "s/usable here: .*/used here/"
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --tune --no-db
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --tune --gpu A100
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --tune --budget soon
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --trials 3
tpat build $MODELS/small.onnx -o out.onnx --tune
ls
