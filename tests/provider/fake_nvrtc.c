/* NVRTC for the GPU of fake_gpu.c: compiles for the emulator. */
#include <stdlib.h>
#include <string.h>

#include "emulator/emulator.h"
#include "tests/provider/fake_gpu.h"

struct program {
	char *text, *log;
	void *image;
	size_t bytes;
};

EXPORT int nvrtcVersion(int *major, int *minor)
{
	*major = 13;
	*minor = 0;
	return 0;
}
EXPORT int nvrtcGetNumSupportedArchs(int *n)
{
	*n = 1;
	return 0;
}
EXPORT int nvrtcGetSupportedArchs(int *arch)
{
	*arch = ARCH;
	return 0;
}
EXPORT const char *nvrtcGetErrorString(int rc)
{
	return rc ? "the emulator's compiler failed" : "success";
}
EXPORT int nvrtcCreateProgram(struct program **p, const char *text, const char *name, int headers,
                              const char *const *header_text, const char *const *header_name)
{
	(void)name, (void)headers, (void)header_text, (void)header_name;
	*p = calloc(1, sizeof **p);
	(*p)->text = strdup(text);
	return 0;
}
EXPORT int nvrtcDestroyProgram(struct program **p)
{
	free((*p)->text);
	free((*p)->log);
	free((*p)->image);
	free(*p);
	*p = NULL;
	return 0;
}
EXPORT int nvrtcCompileProgram(struct program *p, int options, const char *const *option)
{
	struct err e = { 0 };
	struct emulator_text text = { .name = "piece.cu", .text = p->text, .may_race = true };
	struct image head = { "fakegpu", 0, strlen(p->text) };
	struct arena *a = arena_new();
	void *code;
	size_t bytes = 0;
	(void)options, (void)option;
	int rc = emulator_compile(&code, &bytes, &text, 1, a, &e);
	if (rc == 0) {
		head.code = bytes;
		p->bytes = sizeof head + bytes + head.text;
		p->image = malloc(p->bytes);
		memcpy(p->image, &head, sizeof head);
		memcpy((char *)p->image + sizeof head, code, bytes);
		memcpy((char *)p->image + sizeof head + bytes, p->text, head.text);
	}
	p->log = strdup(e.text);
	arena_free(a);
	return rc ? 6 : 0;
}
EXPORT int nvrtcGetProgramLogSize(struct program *p, size_t *n)
{
	*n = strlen(p->log) + 1;
	return 0;
}
EXPORT int nvrtcGetProgramLog(struct program *p, char *out)
{
	memcpy(out, p->log, strlen(p->log) + 1);
	return 0;
}
EXPORT int nvrtcGetCUBINSize(struct program *p, size_t *n)
{
	*n = p->bytes;
	return 0;
}
EXPORT int nvrtcGetCUBIN(struct program *p, char *out)
{
	memcpy(out, p->image, p->bytes);
	return 0;
}
EXPORT int nvrtcGetPTXSize(struct program *p, size_t *n)
{
	return nvrtcGetCUBINSize(p, n);
}
EXPORT int nvrtcGetPTX(struct program *p, char *out)
{
	return nvrtcGetCUBIN(p, out);
}
