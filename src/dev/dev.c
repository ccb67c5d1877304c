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

int dev_launch(struct dev *d, struct dev_kernel *k, const struct dev_launch *l, void **args, struct err *e)
{
	bool early = l->early && d->launch_early, together = l->together && d->launch_together;
	return (together ? d->launch_together
	        : early  ? d->launch_early
	                 : d->launch)(d, k, l->grid, l->block, l->shared_bytes, args, e);
}

int dev_together(struct dev *d, int threads)
{
	return d->together ? d->together(d, threads) : INT32_MAX;
}

int dev_tensor_map(struct dev *d, void *out, const struct tpat_rt_map_values *v, struct err *e)
{
	return d->tensor_map ? d->tensor_map(d, out, v, e) : 0;
}
