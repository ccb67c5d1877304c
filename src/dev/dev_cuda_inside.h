/* Inside src/dev/: shared by the parts of the CUDA device. Each fills its own entries of struct dev. */
#ifndef TPAT_DEV_DEV_CUDA_INSIDE_H
#define TPAT_DEV_DEV_CUDA_INSIDE_H

#include "dev/cuda_driver.h"
#include "dev/dev.h"

struct gpu {
	struct dev dev;
	struct arena *arena;
	const struct cuda_driver *cu;
	int device;
	cu_context context;
	cu_stream stream;
	cu_stream other;               /* the recorder; while launches are recorded, in its place the queue */
	struct dev_event *free_events; /* structs to reuse; their events are destroyed */
	struct dev_graph *free_graphs;
	void *managed; /* NVML's handle of the GPU */
	bool looked_for_clock;
};

/* Makes the device's context current in the calling thread, before each driver call; free if it already is. */
const struct cuda_driver *dev_cuda_enter(struct dev *d, struct gpu **g);

void dev_cuda_code(struct dev *d);  /* compile, modules, kernels, launches, tensor maps */
void dev_cuda_queue(struct dev *d); /* memory, events, graphs */
void dev_cuda_clock(struct gpu *g); /* the present clock */

#endif
