/* Worker processes of the tuner: copies of the tuner's process that compile, or that measure on the device. The tuner
 * itself opens no device: a GPU's driver does not survive a fork, and a kernel's fault takes down the process that
 * launched it. As the workers are copies, the program, its inputs and the reference need not be handed over; a request
 * is a point. */
#ifndef TPAT_TUNE_WORKER_H
#define TPAT_TUNE_WORKER_H

#include "base/child.h"
#include "check/sample.h"
#include "tune/search.h"
#include "tune/tune.h"

/* What all workers of a program know. */
struct tune_bench {
	const struct tune_space *space;
	const struct tensor *const *inputs; /* of the program, with constants */
	const struct tensor *want;          /* the reference's outputs; or null: it has some elements of them: */
	const struct sample *sample;        /* then candidates must agree with each other in all the others */
	const char *device;                 /* as dev_open() takes it */
	int arch;                           /* of the device; 0: no GPU */
	const struct language *language;    /* of its code */
	size_t rotate;
	const char *folder; /* for code, which is kept by its text, and for the workers' messages */
};

struct tune_request {
	int id, repeats;
	bool compared; /* time it by turns with `against`, which was ok before */
	int16_t point[TUNE_MAX_STAGES], against[TUNE_MAX_STAGES];
};

struct tune_reply {
	int id, kernels;
	enum tune_status status;
	bool own_fault; /* no fault of the candidate: the disk, the device, or what it was compared with */
	double ns, spread, bytes;
	double ratio; /* of its time to that of `against`, where it was compared */
	char why[1024], advice[512];
};

/* The bodies of the processes; `arg` is a struct tune_bench. Each answers requests until the other side is gone. A
 * worker that measured something that failed on the device ends after its answer: nothing is known of the device's
 * state then. */
void tune_compiler(void *arg, int fd);
void tune_measurer(void *arg, int fd);

/* The device as a process of its own saw it, which has ended since. */
struct tune_device {
	struct dev_props props;
	double bytes_per_ns;
};
int tune_probe(struct tune_device *out, const char *device, size_t cache_bytes, struct err *e);

#endif
