/* Memory and clock of devices on this processor, shared by dev_cpu.c and dev_null.c. */
#ifndef TPAT_DEV_DEV_HOST_H
#define TPAT_DEV_DEV_HOST_H

#include "dev/dev.h"

void dev_host_memory(struct dev *d); /* fills its entries: alloc, free, copies, memset, synchronize */
double dev_host_now(void);           /* nanoseconds of a monotonic clock */

#endif
