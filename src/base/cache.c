/* A file per entry: a head with the key and a checksum, then the bytes. See cache.h. */
#include "base/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"

enum { NAME = 32, OLD_SECONDS = 3600, PUTS_PER_LOOK = 16 };
static const char magic[] = { 't', 'p', 'a', 't', '-', 'c', '1', '\n' };
static const uint64_t default_limit = 1u << 30;

struct head {
	char magic[sizeof magic];
	struct cache_key key;
	uint64_t size, sum[2];
};

/* A setting that makes no sense keeps the default. */
static uint64_t limit(void)
{
	static const char units[] = "KMG";
	const char *text = getenv("TPAT_CACHE_SIZE");
	char *end;
	if (!text || *text < '0' || *text > '9')
		return default_limit;
	unsigned long long n = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	if ((*end && !unit) || (unit && end[1]) || n > UINT64_MAX >> 30)
		return default_limit;
	return unit ? n << (10 * (unit - units + 1)) : n;
}

/* ---- Keys. */

struct cache_key cache_key_new(void)
{
	return (struct cache_key){ { 1, 2 } };
}

void cache_key_add(struct cache_key *k, const void *data, size_t size)
{
	for (int i = 0; i < 2; i++)
		k->half[i] = hash_bytes(k->half[i], data, size);
}

void cache_key_text(struct cache_key *k, const char *text)
{
	cache_key_add(k, text, strlen(text));
}

static struct head head_of(struct cache_key k, const void *data, size_t size)
{
	struct head h = { .key = k, .size = size };
	struct cache_key sum = k;
	memcpy(h.magic, magic, sizeof magic);
	cache_key_add(&sum, data, size);
	memcpy(h.sum, sum.half, sizeof h.sum);
	return h;
}

static const char *path_of(const char **folder, const char *kind, struct cache_key k, struct arena *a)
{
	const char *cache = file_cache_dir(a);
	if (!cache || limit() == 0)
		return NULL;
	*folder = path_join(a, cache, kind);
	return arena_printf(a, "%s/%016llx%016llx", *folder, (unsigned long long)k.half[0],
	                    (unsigned long long)k.half[1]);
}

/* ---- Reading. */

/* Another user's file in a shared folder is not trusted: code from it would run. */
static bool is_own(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022);
}

bool cache_get(const void **out, size_t *size, const char *kind, struct cache_key k, struct arena *a)
{
	struct arena *scratch = arena_new();
	const char *folder, *path = path_of(&folder, kind, k, scratch);
	struct err e = { 0 };
	char *file;
	size_t n;
	bool found = path && is_own(path) && file_read(&file, &n, path, scratch, &e) == 0;
	if (found) {
		struct head want = { 0 }, got;
		bool whole = n >= sizeof got;
		if (whole) {
			memcpy(&got, file, sizeof got);
			want = head_of(k, file + sizeof got, n - sizeof got);
		}
		found = whole && memcmp(&got, &want, sizeof got) == 0;
		if (!found)
			unlink(path);
	}
	if (found) {
		utimensat(AT_FDCWD, path, NULL, 0); /* it was used now */
		*size = n - sizeof(struct head);
		char *copy = arena_alloc(a, *size + 1);
		memcpy(copy, file + sizeof(struct head), *size);
		*out = copy;
	}
	arena_free(scratch);
	return found;
}

/* ---- Keeping. */

struct entry {
	const char *path;
	struct timespec used;
	uint64_t bytes;
};

struct entries {
	VEC(struct entry);
	uint64_t bytes;
};

static int compare_ages(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

static bool is_entry(const char *name)
{
	return strlen(name) == NAME && strspn(name, "0123456789abcdef") == NAME;
}

/* Names of files being written start with a dot; a killed process leaves them. */
static void list_entries(struct entries *out, const char *folder, struct arena *a)
{
	DIR *d = opendir(folder);
	time_t now = time(NULL);
	if (!d)
		return;
	for (struct dirent *x; (x = readdir(d)) != NULL;) {
		struct stat st;
		const char *path = path_join(a, folder, x->d_name);
		bool whole = is_entry(x->d_name);
		if ((!whole && x->d_name[0] != '.') || lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (!whole) {
			if (now - st.st_mtim.tv_sec > OLD_SECONDS)
				unlink(path);
			continue;
		}
		struct entry e = { path, st.st_mtim, (uint64_t)st.st_size };
		vec_push(a, out, e);
		out->bytes += e.bytes;
	}
	closedir(d);
}

/* To nine tenths of the limit, so that not every put has to. */
static void make_room(const char *folder, struct arena *a)
{
	struct entries all = { 0 };
	list_entries(&all, folder, a);
	if (all.bytes <= limit())
		return;
	qsort(all.at, (size_t)all.n, sizeof *all.at, compare_ages);
	uint64_t left = all.bytes;
	for (int i = 0; i < all.n && left > limit() / 10 * 9; i++)
		if (unlink(all.at[i].path) == 0)
			left -= all.at[i].bytes;
}

void cache_put(const char *kind, struct cache_key k, const void *data, size_t size)
{
	static atomic_uint puts;
	struct arena *a = arena_new();
	const char *folder, *path = path_of(&folder, kind, k, a);
	struct err e = { 0 };
	unsigned number = atomic_fetch_add(&puts, 1);
	if (path && sizeof(struct head) + size <= limit() && file_mkdir(folder, &e) == 0) {
		struct head h = head_of(k, data, size);
		char *file = arena_alloc(a, sizeof h + size);
		const char *own = arena_printf(a, "%s/.%d.%u", folder, (int)getpid(), number);
		memcpy(file, &h, sizeof h);
		memcpy(file + sizeof h, data, size);
		/* Not synced: after a power cut the checksum shows what is missing. */
		if (file_make(own, file, sizeof h + size, &e) < 0 || chmod(own, 0600) < 0 ||
		    file_rename(own, path, &e) < 0)
			unlink(own);
		else if (number % PUTS_PER_LOOK == 0)
			make_room(folder, a);
	}
	arena_free(a);
}
