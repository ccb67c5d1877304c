# -o - is no file, for any command.
for command in build report deploy fix; do tpat $command $MODELS/small.onnx -o -; echo "$command: exit $?"; done
tpat report $MODELS/small.onnx -t Softmax -o ./- --no-db | cut -d: -f1; ls
