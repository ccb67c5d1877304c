/* Memory and clock of devices that are this processor: what dev_cpu.c and dev_null.c share. Entries of struct dev. */
#ifndef TPAT_DEV_DEV_HOST_H
#define TPAT_DEV_DEV_HOST_H

#include "dev/dev.h"

int dev_host_alloc(struct dev *d, void **out, size_t bytes, struct err *e);
void dev_host_free(struct dev *d, void *p);
int dev_host_copy(struct dev *d, void *to, const void *from, size_t bytes, struct err *e);
int dev_host_memset(struct dev *d, void *p, int byte, size_t bytes, struct err *e);
int dev_host_synchronize(struct dev *d, struct err *e);
double dev_host_now(void); /* nanoseconds of a clock that only goes forward */

#endif
