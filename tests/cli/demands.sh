# Extents that must agree, and do for some sizes of the image: drawn ones do; others are refused by name, before any launch.
tpat build $MODELS/neck.onnx -r first,second,enlarge,join --arch compute_90 -o out.onnx --no-db > log || exit
grep -c "node, rule" out.tpat/plugins/*.h
tpat verify out.onnx --device cpu --runs 6 | tail -1
tpat verify out.onnx --device cpu --shape image:1x1x7x8 | tail -1
tpat verify out.onnx --device cpu --shape image:1x1x5x8
# The node alone: two extents with one name.
tpat build $MODELS/neck.onnx -n join --arch compute_90 -o out.onnx --no-db > log || exit
tpat verify out.onnx --device cpu --shape enlarged:1x3x4x4 --shape upper:1x2x4x5
