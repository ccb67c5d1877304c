/* Worker processes of the tuner, which compile, or measure on the device. The tuner itself opens no device: a GPU
 * driver does not survive a fork, and a kernel's fault kills the process that launched it. Workers are forked, so they
 * share the program, its inputs and the reference; a request is just a point. */
#ifndef TPAT_TUNE_WORKER_H
#define TPAT_TUNE_WORKER_H

#include "base/child.h"
#include "check/sample.h"
#include "tune/search.h"
#include "tune/tune.h"

/* Shared by all workers of a program. */
struct tune_bench {
	const struct tune_space *space;
	const struct tensor *const *inputs; /* of the program, with constants */
	const struct tensor *want;          /* the reference outputs; or null: only sampled elements: */
	const struct sample *sample;        /* candidates must then agree with each other in all others */
	const char *device;                 /* as for dev_open() */
	int arch;                           /* of the device; 0: no GPU */
	const struct language *language;    /* of the code */
	size_t rotate;
	const char *folder; /* for code, cached by its text, and for the workers' messages */
};

struct tune_request {
	int repeats;
	bool compared; /* time it alternating with `against`, which was ok */
	bool exact;    /* to choose between them */
	int16_t point[TUNE_MAX_STAGES], against[TUNE_MAX_STAGES];
};

struct tune_reply {
	int kernels;
	enum tune_status status;
	bool own_fault; /* not the candidate's fault: disk, device, or `against` */
	double ns, spread, bytes;
	double ratio; /* its time / that of `against`, if compared */
	char why[1024], advice[512];
};

/* The bodies of the processes; `arg` is a struct tune_bench. Each answers requests until its peer is gone. A measurer
 * ends after reporting a failure on the device, whose state is then unknown. */
void tune_compiler(void *arg, int fd);
void tune_measurer(void *arg, int fd);

/* The device's properties, as seen by a process that has exited since. */
struct tune_device {
	struct dev_props props;
	double bytes_per_ns;
};
/* The number of GPUs, counted by such a process. ERR_DEVICE if it dies. */
int tune_gpus(int *n, struct err *e);
int tune_probe(struct tune_device *out, const char *device, size_t cache_bytes, struct err *e);

#endif
