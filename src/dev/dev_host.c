/* Host memory for devices. See dev_host.h. */
#include "dev/dev_host.h"

#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

/* Precedes each allocation by a page, so that the memory is aligned like a GPU's. */
struct header {
	size_t mapped;
};
enum { HEADER = 4096 };

static int alloc(struct dev *d, void **out, size_t bytes, struct err *e)
{
	(void)d;
	size_t mapped = HEADER + bytes;
	void *p = mapped < bytes ? MAP_FAILED
	                         : mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return err_set(e, ERR_DEVICE, "There is no memory for a buffer of %zu bytes.", bytes);
	((struct header *)p)->mapped = mapped;
	*out = (char *)p + HEADER;
	return 0;
}

static void free_buffer(struct dev *d, void *p)
{
	(void)d;
	if (p) {
		struct header *h = (struct header *)((char *)p - HEADER);
		munmap(h, h->mapped);
	}
}

static int copy(struct dev *d, void *to, const void *from, size_t bytes, struct err *e)
{
	(void)d;
	(void)e;
	if (bytes)
		memcpy(to, from, bytes);
	return 0;
}

static int fill(struct dev *d, void *p, int byte, size_t bytes, struct err *e)
{
	(void)d;
	(void)e;
	if (bytes)
		memset(p, byte, bytes);
	return 0;
}

static int synchronize(struct dev *d, struct err *e)
{
	(void)d;
	(void)e;
	return 0;
}

void dev_host_memory(struct dev *d)
{
	d->alloc = alloc;
	d->free = free_buffer;
	d->copy_in = copy;
	d->copy_out = copy;
	d->copy_within = copy;
	d->memset = fill;
	d->synchronize = synchronize;
}

double dev_host_now(void)
{
	return clock_seconds() * 1e9;
}
