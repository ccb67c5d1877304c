#!/bin/sh
# Prints a C file that embeds the given files, for src/base/embed.h. The assembler reads them, so it must run in the same
# folder. Each ends with a NUL that its size does not include. Names of built files omit their folder.
set -e
echo '#include "base/embed.h"'
n=0
for file; do
	printf '__asm__(".section .rodata\\n.balign 8\\nembed_%d:\\n.incbin \\"%s\\"\\n.byte 0\\n.previous\\n");\n' $n "$file"
	printf 'extern __attribute__((visibility("hidden"))) const char embed_%d[];\n' $n
	n=$((n + 1))
done
echo 'const struct embed_file embed_files[] = {'
n=0
for file; do
	printf '\t{ "%s", embed_%d, %d },\n' "${file#build/gen/}" $n "$(wc -c < "$file")"
	n=$((n + 1))
done
printf '\t{ 0, 0, 0 },\n};\n'
