# A compiler is what CC says, with options or a wrapper in front, or the one that PATH has: there need be no cc.
printf '#!/bin/sh\necho wrapped >> "%s"\nexec "$@"\n' "$PWD/said" > wrapper
mkdir only
printf '#!/bin/sh\nPATH=%s\nexport PATH\nexec cc "$@"\n' "'$PATH'" > only/clang
chmod +x wrapper only/clang
program=$(command -v tpat)
CC="$PWD/wrapper  cc -O1" tpat run $MODELS/small.onnx --device cpu --shape x:2x4 > /dev/null
echo "exit $?"
uniq said
CC="$PWD/wrapper cc" tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 > /dev/null
echo "exit $?"
PATH=$PWD/only
CC= $program build $MODELS/small.onnx -t Softmax -o other.onnx --arch sm_90 > said
echo "exit $?"
CC= $program run $MODELS/small.onnx --device cpu --shape x:2x4 > said
echo "exit $?"
PATH=$PWD/none
CC= $program run $MODELS/small.onnx --device cpu --shape x:2x4
CC="nothing -O1" $program build $MODELS/small.onnx -t Softmax -o more.onnx --arch sm_90
