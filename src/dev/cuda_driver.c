/* libcuda.so.1 by dlopen. See cuda_driver.h. */
#include "dev/cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct cuda_driver cuda;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int opened; /* 1: success */

static const struct {
	const char *symbol;
	void *entry;
} entries[] = {
#define X(name, symbol, parameters) { #symbol, &cuda.name },
	CU_ENTRIES(X)
#undef X
};

static int open_locked(struct err *e)
{
	if (opened)
		return 0;
	void *so = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!so) {
		err_set(e, ERR_DEVICE, "There is no CUDA driver on this machine: %s.", dlerror());
		return err_advise(e, "Install NVIDIA's driver, or work without a GPU: everything except tuning and "
		                     "verifying on one works.");
	}
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
		void *p = dlsym(so, entries[i].symbol);
		if (!p && strcmp(entries[i].symbol, "cuTensorMapEncodeTiled") == 0) /* since CUDA 12.0; its users check
		                                                                     */
			continue;
		if (!p) {
			dlclose(so);
			return err_set(e, ERR_DEVICE,
			               "The CUDA driver is too old: it has no %s (CUDA 11.4 or newer is needed).",
			               entries[i].symbol);
		}
		memcpy(entries[i].entry, &p, sizeof p);
	}
	void *launch_with = dlsym(so, "cuLaunchKernelEx");
	memcpy(&cuda.launch_with, &launch_with, sizeof launch_with);
	int rc = cuda.init(0);
	if (rc != 0) {
		int code = dev_driver_check(rc, "The CUDA driver does not start", e);
		dlclose(so);
		return code;
	}
	opened = 1;
	return 0;
}

int dev_driver_open(const struct cuda_driver **out, struct err *e)
{
	pthread_mutex_lock(&lock);
	int rc = open_locked(e);
	pthread_mutex_unlock(&lock);
	*out = &cuda;
	return rc;
}

int dev_driver_check(int result, const char *what, struct err *e)
{
	const char *name = NULL, *text = NULL;
	if (result == 0)
		return 0;
	if (cuda.error_name(result, &name) != 0 || !name)
		name = "unknown error";
	if (cuda.error_text(result, &text) != 0 || !text)
		text = "no description";
	return err_set(e, ERR_DEVICE, "%s: %s (%s, %d)%s.", what, text, name, result,
	               result == TPAT_CUDA_FORKED ? "; " TPAT_CUDA_FORKED_HELP : "");
}
