/* What fuzz targets share: the function that each of them is, and with -DFUZZ_MAIN a program that runs it on the files
 * that it is given. Built with -fsanitize=fuzzer, libFuzzer has the program. */
#ifndef TPAT_TESTS_FUZZ_FUZZ_MAIN_H
#define TPAT_TESTS_FUZZ_FUZZ_MAIN_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef FUZZ_MAIN
#include <stdio.h>

#include "base/file.h"

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct file_map f;
		struct err e = { 0 };
		if (file_map_open(&f, argv[i], &e) < 0) {
			fprintf(stderr, "%s\n", e.text);
			return 1;
		}
		LLVMFuzzerTestOneInput(f.data, f.size);
		file_map_close(&f);
	}
	printf("%d files, no crash\n", argc - 1);
	return 0;
}
#endif

#endif
