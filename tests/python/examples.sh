#!/bin/sh
# The programs of examples/ build, verify and run a model, and fail with a reason: examples.sh MODELS, after `make examples`.
cd "$(dirname "$0")/../.." || exit 1
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT
passed=0 failed=0
check() { if [ "$2" = "$3" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); printf '%s: %s\n' "$1" "$3"; fi; }
for program in build_c build_cpp; do
	cp "$1/small.onnx" "$here/net.onnx"
	check $program "1 plugins
1 of 1 agree" "$(build/examples/$program "$here/net.onnx" Softmax 2>&1)"
	build/examples/$program "$here/none.onnx" Softmax 2> "$here/error"
	check "$program, a missing file: exit status" 3 $?
	check "$program, a missing file: names" 1 "$(grep -c none.onnx "$here/error")"
done
# The rows of a softmax have the sum 1.
check run_c "y: 2 axes, the first of 1
y: 2 axes, the first of 2
y: 2 axes, the first of 3
y: 2 axes, the first of 4" "$(build/examples/run_c "$1/small.onnx" 2>&1)"
check run_cpp "y: 1 rows, sum 1
y: 2 rows, sum 2
y: 3 rows, sum 3
y: 4 rows, sum 4" "$(build/examples/run_cpp "$1/small.onnx" 2>&1)"
for program in run_c run_cpp; do
	build/examples/$program "$here/none.onnx" 2> "$here/error"
	check "$program, a missing file: exit status" 3 $?
	check "$program, a missing file: names" 1 "$(grep -c none.onnx "$here/error")"
done
check "the folder's Makefile" 0 "$(make -s -C "$here/net_tpat.tpat" >"$here/log" 2>&1; echo $?)"
for file in build/tpat build/libtpat.so "$here/libtpat_net.so" "$here/net_tpat.tpat/libtpat_net.so"; do
	check "$file: full RELRO" 2 "$(readelf -lWd "$file" | grep -c -e GNU_RELRO -e 'FLAGS_1.*NOW')"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
