# A kernel in C of which a compiler once made wrong code: see src/dev/dev_cpu.c.
tpat build $MODELS/any.onnx --region numbers,most,any --arch sm_90 -o out.onnx -q > /dev/null
tpat verify out.onnx -d cpu --runs 4 | tail -n 1
