/* Builds plugins for the nodes of a model that TensorRT refuses, or for all nodes of a type, and verifies them:
 * build MODEL [TYPE]. cc build.c $(pkg-config --cflags --libs tpat) */
#include <stdio.h>

#include "tpat/tpat.h"

static int fail(const struct tpat *t, int code)
{
	fprintf(stderr, "%s%s %s\n", tpat_error_where(t), tpat_error(t), tpat_error_advice(t));
	return -code;
}

int main(int argc, char **argv)
{
	struct tpat_build_options o = TPAT_BUILD_OPTIONS;
	struct tpat_verify_options v = TPAT_VERIFY_OPTIONS;
	const struct tpat_built *built;
	const struct tpat_verified *verified;
	const char *arch = "sm_90";
	if (argc < 2) {
		fprintf(stderr, "usage: build MODEL [TYPE]\n");
		return 2;
	}
	struct tpat *t = tpat_new();
	if (!t)
		return 5;
	o.model = argv[1];
	o.type.at = (const char *const *)argv + 2;
	o.type.n = argc - 2;
	o.automatic = argc == 2;
	o.arch.at = &arch;
	o.arch.n = 1;
	int code = tpat_build(t, &built, &o);
	if (code == 0) {
		char model[4096];
		printf("%d plugins\n", built->plugins);
		snprintf(model, sizeof model, "%s", built->output); /* the next call frees the result */
		v.model = model;
		v.device = "cpu";
		code = tpat_verify(t, &verified, &v);
		if (code == 0)
			printf("%d of %d agree\n", verified->checks - verified->failed, verified->checks);
	}
	code = code < 0 ? fail(t, code) : 0;
	tpat_free(t);
	return code;
}
