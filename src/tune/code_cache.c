/* Compiled code of kernels in a folder, by the hash of their text: code shared by candidates is compiled once, by
 * whichever worker needs it first. */
#include "tune/code_cache.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "base/str.h"

struct head {
	int arch, ptx, refused;
};

static int get(struct dev_code *out, const char *path, struct arena *a, struct err *e)
{
	char *data;
	size_t size;
	struct head h;
	TRY(file_read(&data, &size, path, a, e));
	ck(size >= sizeof h);
	memcpy(&h, data, sizeof h);
	if (h.refused)
		return err_set(e, ERR_DEVICE, "%s", data + sizeof h);
	/* In its own allocation, aligned for the code. */
	void *code = arena_alloc(a, size - sizeof h + 1);
	memcpy(code, data + sizeof h, size - sizeof h);
	*out = (struct dev_code){ .data = code, .size = size - sizeof h, .arch = h.arch, .ptx = h.ptx };
	return 0;
}

static int put(const char *path, struct head h, const void *data, size_t size, struct arena *a, struct err *e)
{
	char *file = arena_alloc(a, sizeof h + size + 1);
	memcpy(file, &h, sizeof h);
	memcpy(file + sizeof h, data, size);
	/* Other workers may read it concurrently; it need not survive a power cut. */
	char *own = arena_printf(a, "%s.%d", path, (int)getpid());
	TRY(file_make(own, file, sizeof h + size, e));
	return file_rename(own, path, e);
}

static int make(struct dev_code *out, struct code_cache *c, const struct dev_source *s, struct arena *a, struct err *e)
{
	if (c->dev)
		return c->dev->compile(c->dev, out, s, NULL, a, e);
	return c->language->compile(out, c->arch, s, NULL, a, e);
}

static int make_and_put(struct dev_code *out, struct code_cache *c, const struct dev_source *s, const char *path,
                        struct arena *a, struct err *e)
{
	int rc = make(out, c, s, a, e);
	if (rc == 0)
		return put(path, (struct head){ out->arch, out->ptx, 0 }, out->data, out->size, a, e);
	if (rc == ERR_DEVICE && !strstr(e->text, strerror(ENOSPC))) {
		struct err ignored = { 0 };
		put(path, (struct head){ .refused = 1 }, e->text, strlen(e->text), a, &ignored);
	}
	return rc;
}

static int compile(void *user, struct dev_code *out, const struct dev_source *s, struct arena *a, struct err *e)
{
	struct code_cache *c = user;
	size_t n = strlen(s->text);
	const char *path =
	        arena_printf(a, "%s/%016llx%016llx", c->folder, (unsigned long long)hash_bytes(1, s->text, n),
	                     (unsigned long long)hash_bytes(2, s->text, n));
	int lock;
	if (!file_exists(path)) {
		TRY(file_lock(&lock, arena_printf(a, "%s.lock", path), e));
		int rc = file_exists(path) ? get(out, path, a, e) : make_and_put(out, c, s, path, a, e);
		file_unlock(lock);
		return rc;
	}
	return get(out, path, a, e);
}

struct tune_code code_cache_use(struct code_cache *c)
{
	return (struct tune_code){ compile, c, c->language };
}
