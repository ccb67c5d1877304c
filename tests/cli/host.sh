# --host: another processor's compiler links the library, which is then refused here; rebuild takes the same compiler.
build() { tpat build $MODELS/small.onnx -n probabilities --arch sm_87 -o out.onnx -q "$@"; }
tpat=$(command -v tpat) cc=$(command -v cc)
build --host mips
echo "exit $?"
mkdir bin
ln -s $(command -v sh) $(command -v as) $(command -v ld) bin
(PATH=$PWD/bin && "$tpat" build $MODELS/small.onnx -n probabilities --arch sm_87 -o out.onnx -q --host aarch64)
echo "exit $?"
# A compiler of that name, which this machine's stands in for; tpat links tpat's own runtime from its sources.
cat > bin/aarch64-linux-gnu-gcc <<END
#!/bin/sh
echo call >> $PWD/calls
exec $cc "\$@"
END
chmod +x bin/aarch64-linux-gnu-gcc
PATH=$PWD/bin:$PATH
tpat build $MODELS/small.onnx -n probabilities --arch sm_87 -o out.onnx --host aarch64 | grep on.aarch64
build --host aarch64 --json | grep '"host"'
grep host out.tpat/tpat.json
rm calls
tpat rebuild out.tpat > /dev/null 2>&1
test -s calls && echo rebuilt
# $CC is for that processor.
printf '#!/bin/sh\ncase $1 in -dumpmachine) echo aarch64-poky-linux; exit;; esac\necho other >> %s/others\nexec %s "$@"\n' "$PWD" "$cc" > bin/other
chmod +x bin/other
rm calls
CC=other build --host aarch64 > /dev/null
test -s others && test ! -e calls && echo by CC
# A library for another processor: e_machine of its head is that of AArch64 or RISC-V.
for machine in '\267' '\363'; do
	printf $machine | dd of=libtpat_out.so bs=1 seek=18 conv=notrunc 2>/dev/null
	tpat verify out.onnx
	echo "exit $?"
	tpat inspect libtpat_out.so
	echo "exit $?"
done
