# The runtime for another processor is compiled once, as long as compiler and sources are the same.
export TPAT_CACHE=$PWD/cache VERSION=1
cc=$(command -v cc)
mkdir bin
cat > bin/aarch64-linux-gnu-gcc <<END
#!/bin/sh
[ "\$1" = --version ] && echo "gcc \$VERSION" && exit
echo " \$*" >> $PWD/calls
exec $cc "\$@"
END
chmod +x bin/aarch64-linux-gnu-gcc
PATH=$PWD/bin:$PATH
calls() { # what was compiled: the whole runtime, or these files
	[ $(grep -c ' -c .* rt/' calls) -gt 12 ] && echo "$1: the runtime" || echo "$1:" $(grep -o ' -c .* rt/.*' calls | sed 's/.* rt/rt/')
	rm calls
}
build() { tpat build $MODELS/small.onnx -n probabilities --arch sm_87 -o out.onnx -q --host aarch64 > /dev/null; }
build
calls first
cp libtpat_out.so before.so
build
calls again
cmp libtpat_out.so before.so
tpat build $MODELS/small.onnx -n product --arch sm_87 -o other.onnx -q --host aarch64 > /dev/null
calls "another model"
(VERSION=2; build)
calls "another compiler"
for f in cache/object/*; do printf damaged | dd of=$f bs=1 seek=200 conv=notrunc 2> /dev/null; done
(VERSION=2; build)
calls "damaged entries"
cmp libtpat_out.so before.so
(export TPAT_CACHE_SIZE=0; build)
calls "no cache"
build
calls "and with it"
echo 'int edited_by_hand;' >> out.tpat/rt/core/rt_plan.c
tpat rebuild out.tpat > /dev/null
calls "an edited source"
echo '#define EDITED_BY_HAND' >> out.tpat/rt/core/rt_core.h
tpat rebuild out.tpat > /dev/null
calls "a header with a macro that nothing uses"
