/* Devices by name. See dev.h. */
#include "dev/dev.h"

#include <stdlib.h>
#include <string.h>

/* The number after "kind:", or `absent` if there is none; -1 if it is not a number. */
static int number_of(const char *name, const char *kind, int absent)
{
	const char *p = name + strlen(kind);
	char *end;
	if (!*p)
		return absent;
	long n = strtol(p + 1, &end, 10);
	return end == p + 1 || *end || n < 0 || n > 9999 ? -1 : (int)n;
}

static bool is_kind(const char *name, const char *kind)
{
	size_t n = strlen(kind);
	return strncmp(name, kind, n) == 0 && (name[n] == 0 || name[n] == ':');
}

int dev_open(struct dev **out, const char *name, struct err *e)
{
	int n = -1;
	if (is_kind(name, "cuda") && (n = number_of(name, "cuda", 0)) >= 0)
		return dev_cuda_open(out, n, e);
	if (is_kind(name, "null") && (n = number_of(name, "null", 0)) >= 0)
		return dev_null_open(out, n, e);
	if (strcmp(name, "cpu") == 0)
		return dev_cpu_open(out, e);
	if (strcmp(name, "emulator") == 0)
		return dev_emulator_open(out, e);
	err_set(e, ERR_USAGE, "There is no device \"%s\".", name);
	return err_advise(e, "Devices are cuda (the first GPU), cuda:1 (the second), emulator and cpu.");
}
