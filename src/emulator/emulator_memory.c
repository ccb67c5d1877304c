/* The emulator's memory: every allocation in its own slot of a large reserved range, with a shadow per byte that
 * records its last writer and readers. All reports about accesses are made here. */
#include "emulator/emulator_state.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* A slot is 4 GiB, the allocation in its middle: an index off by less than 2 GiB still names the right buffer. */
enum { SLOTS = 4096, SHARED_MAX = 64, STATIC_SHARED_BYTES = 48 << 10, HUGE_FROM = 8 << 20 };
#ifdef __SANITIZE_THREAD__ /* leaves less room for addresses */
static const uintptr_t SLOT = (uintptr_t)1 << 26;
#else
static const uintptr_t SLOT = (uintptr_t)1 << 32;
#endif

enum {
	BYTE_WRITTEN = 1,
	BYTE_ATOMIC = 2,        /* the last write was atomic */
	BYTE_READERS = 4,       /* several threads have read since read_epoch began ... */
	BYTE_READER_WARPS = 8,  /* ... of several warps */
	BYTE_READER_BLOCKS = 16 /* several blocks have read in this launch */
};

/* The last accesses to a byte. Thread numbers are within the block. Accesses of another launch (global) or block_id
 * (shared) are obsolete. */
struct shadow {
	uint32_t launch, block, epoch;                /* of the last write */
	uint32_t read_launch, read_block, read_epoch; /* of the last read */
	uint16_t thread, read_thread;
	uint16_t warp_epoch, read_warp_epoch;
	uint8_t flags;
};

struct region {
	char name[64];
	char *at; /* null: the slot is free */
	size_t bytes, mapped, shadow_mapped;
	struct shadow *shadow;
	int flags;
	bool shared;
};

static size_t shared_limit = 227 << 10;
static uintptr_t base, span;
static struct region region[SLOTS];
static int slots; /* slots used so far */

/* Each block that runs now has one. */
static struct shared {
	struct {
		int id;
		size_t bytes;
		void *at;
	} var[SHARED_MAX];
	int vars;
	size_t static_bytes, dynamic_bytes;
	void *dynamic;
} shared_of[EMULATOR_BLOCKS];

/* A pending store over another thread's store in this launch: an error if it changes the value. */
static struct {
	const struct region *region;
	size_t offset, bytes;
	uint32_t block;
	uint16_t thread;
	char old[16];
} pending;

int emulator_memory_open(uintptr_t *out_base, uintptr_t *out_span, struct err *e)
{
	if (!base) {
		void *p = mmap(NULL, SLOTS * SLOT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return err_set(e, ERR_DEVICE, "The emulator cannot reserve its address range of %d slots.",
			               SLOTS);
		base = (uintptr_t)p;
		span = SLOTS * SLOT;
	}
	*out_base = base;
	*out_span = span;
	return 0;
}

ON_FIBRE static struct region *region_of(const void *p)
{
	uintptr_t offset = (uintptr_t)p - base;
	struct region *r = offset < span ? &region[offset / SLOT] : NULL;
	return r && r->at ? r : NULL;
}

static size_t pages(size_t bytes)
{
	return (bytes + 4096) & ~(size_t)4095;
}

ON_FIBRE static struct region *region_new(const char *name, size_t bytes, int flags, bool is_shared)
{
	struct err e = { 0 };
	int i = 0;
	if (emulator_memory_open(&base, &span, &e) < 0 || bytes >= SLOT / 2)
		return NULL;
	while (i < slots && region[i].at)
		i++;
	if (i == SLOTS)
		return NULL;
	struct region *r = &region[i];
	char *at = (char *)base + (uintptr_t)i * SLOT + SLOT / 2;
	r->mapped = pages(bytes);
	r->shadow_mapped = pages((bytes + 1) * sizeof *r->shadow);
	if (mprotect(at, r->mapped, PROT_READ | PROT_WRITE) != 0)
		return NULL;
	void *shadow = mmap(NULL, r->shadow_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	                    -1, 0);
	if (shadow == MAP_FAILED)
		return NULL;
	if (r->shadow_mapped >= HUGE_FROM)
		madvise(shadow, r->shadow_mapped, MADV_HUGEPAGE); /* else page faults take a quarter of a run */
	snprintf(r->name, sizeof r->name, "%s", name ? name : "buffer");
	r->at = at;
	r->bytes = bytes;
	r->shadow = shadow;
	r->flags = flags;
	r->shared = is_shared;
	if (i == slots)
		slots++;
	return r;
}

static void region_free(struct region *r)
{
	/* The range stays reserved; its pages are released, so that the next use finds zeros. */
	madvise(r->at, r->mapped, MADV_DONTNEED);
	mprotect(r->at, r->mapped, PROT_NONE);
	munmap(r->shadow, r->shadow_mapped);
	memset(r, 0, sizeof *r);
}

static void set_written(struct region *r, size_t offset, size_t n, bool written)
{
	for (size_t i = offset; i < offset + n && i < r->bytes; i++) {
		memset(&r->shadow[i], 0, sizeof r->shadow[i]);
		r->shadow[i].flags = written ? BYTE_WRITTEN : 0;
	}
}

void *emulator_alloc(const char *name, size_t bytes, int flags)
{
	struct region *r = region_new(name, bytes, flags, false);
	if (!r)
		return NULL;
	if (flags & EMULATOR_INITIALISED)
		set_written(r, 0, bytes, true);
	else
		memset(r->at, 0xa5, bytes);
	return r->at;
}

void emulator_free(void *p)
{
	struct region *r = p ? region_of(p) : NULL;
	if (r)
		region_free(r);
}

void emulator_mark(void *p, const char *name, int flags)
{
	struct region *r = region_of(p);
	ck(r && !r->shared);
	if (name)
		snprintf(r->name, sizeof r->name, "%s", name);
	r->flags = flags;
	set_written(r, 0, r->bytes, flags & EMULATOR_INITIALISED);
}

void emulator_name(void *p, const char *name)
{
	struct region *r = region_of(p);
	ck(r && !r->shared);
	snprintf(r->name, sizeof r->name, "%s", name);
}

const char *emulator_name_of(const void *p)
{
	const struct region *r = region_of(p);
	return r ? r->name : "no buffer";
}

void emulator_fill(void *to, int byte, size_t bytes)
{
	struct region *r = region_of(to);
	size_t offset = r ? (size_t)((char *)to - r->at) : 0;
	ck(r && offset <= r->bytes && bytes <= r->bytes - offset);
	memset(to, byte, bytes);
	set_written(r, offset, bytes, true);
}

void emulator_copy_in(void *to, const void *from, size_t bytes)
{
	struct region *r = region_of(to);
	size_t offset = r ? (size_t)((char *)to - r->at) : 0;
	ck(r && offset <= r->bytes && bytes <= r->bytes - offset);
	memcpy(to, from, bytes);
	set_written(r, offset, bytes, true);
}

int64_t emulator_first_unwritten(const void *p, size_t n)
{
	const struct region *r = region_of(p);
	size_t offset = r ? (size_t)((const char *)p - r->at) : 0;
	ck(r && offset <= r->bytes && n <= r->bytes - offset);
	for (size_t i = 0; i < n; i++)
		if (!(r->shadow[offset + i].flags & BYTE_WRITTEN))
			return (int64_t)i;
	return -1;
}

/* ---- Checks ---- */

/* Returns the region that contains the whole access, and its *offset there. */
ON_FIBRE static struct region *find(const void *p, size_t bytes, int aligned, const char *verb, size_t *offset)
{
	struct region *r = region_of(p);
	if (!r)
		emulator_fail("%s %zu bytes at an address that is not a buffer's (freed, or far out of bounds)", verb,
		              bytes);
	int64_t at = (int64_t)((uintptr_t)p - (uintptr_t)r->at), unit = (int64_t)bytes;
	if (at < 0 || at > (int64_t)r->bytes || bytes > r->bytes - (size_t)at)
		emulator_fail("%s %s[%lld] (%zu bytes at byte %lld) out of bounds: %s has %zu bytes", verb, r->name,
		              (long long)(at >= 0 ? at / unit : -((-at + unit - 1) / unit)), bytes, (long long)at,
		              r->name, r->bytes);
	if (aligned && (uintptr_t)p % bytes != 0)
		emulator_fail("%s %zu bytes of %s misaligned, at byte %lld", verb, bytes, r->name, (long long)at);
	*offset = (size_t)at;
	return r;
}

/* True if an earlier access by `thread` of this block is ordered before this one. */
ON_FIBRE static bool ordered(uint16_t thread, uint32_t epoch, uint16_t warp_epoch)
{
	const struct emulator_now *n = &emulator_now;
	return thread == n->thread || epoch != n->epoch ||
	       (thread / 32 == n->thread / 32 && warp_epoch != n->warp_epoch[n->thread / 32]);
}

/* True if a record is current: of this block for shared memory, of this launch for global memory. */
ON_FIBRE static bool is_now(const struct region *r, uint32_t launch, uint32_t block)
{
	return r->shared ? block == emulator_now.block_id : launch == emulator_now.launch;
}

/* True if an access by this thread races with the earlier one. Only fences order different blocks. */
ON_FIBRE static bool races(const struct region *r, uint32_t block, uint16_t thread, uint32_t epoch, uint16_t warp_epoch)
{
	if (block != emulator_now.block_id)
		return !r->shared && !emulator_now.kernel->fences;
	return !ordered(thread, epoch, warp_epoch);
}

ON_FIBRE static _Noreturn void fail_race(const struct region *r, size_t offset, size_t bytes, const char *verb,
                                         const char *other_verb, uint32_t block, uint16_t thread)
{
	if (block == emulator_now.block_id)
		emulator_fail("%s %s[%zu] (%zu bytes) which thread number %u %s with no barrier in between: a race",
		              verb, r->name, offset / bytes, bytes, thread, other_verb);
	emulator_fail("%s %s[%zu] (%zu bytes) which another block %s in this launch: a race", verb, r->name,
	              offset / bytes, bytes, other_verb);
}

ON_FIBRE static void read_byte(const struct region *r, struct shadow *s, size_t offset, size_t bytes, bool atomic)
{
	const struct emulator_now *n = &emulator_now;
	bool mine = is_now(r, s->launch, s->block);
	if (!(s->flags & BYTE_WRITTEN) || (r->shared && !mine))
		emulator_fail("reads %s[%zu] (%zu bytes), which nothing has written", r->name, offset / bytes, bytes);
	if (mine && !(atomic && s->flags & BYTE_ATOMIC) && races(r, s->block, s->thread, s->epoch, s->warp_epoch) &&
	    !(n->kernel->may_race && !r->shared))
		fail_race(r, offset, bytes, "reads", "wrote", s->block, s->thread);
	if (atomic)
		return; /* the write that follows records the thread */
	int flags = s->flags, readers = BYTE_READERS | BYTE_READER_WARPS;
	if (!is_now(r, s->read_launch, s->read_block))
		flags &= ~(readers | BYTE_READER_BLOCKS);
	else if (s->read_block != n->block_id)
		flags = (flags & ~readers) | BYTE_READER_BLOCKS;
	else if (s->read_epoch != n->epoch)
		flags &= ~readers;
	else if (s->read_thread / 32 != n->thread / 32)
		flags |= readers;
	else if (s->read_warp_epoch != n->warp_epoch[n->thread / 32])
		flags &= flags & BYTE_READER_WARPS ? ~0 : ~BYTE_READERS;
	else if (s->read_thread != n->thread)
		flags |= BYTE_READERS;
	s->flags = (uint8_t)flags;
	s->read_launch = n->launch;
	s->read_block = n->block_id;
	s->read_epoch = n->epoch;
	s->read_thread = n->thread;
	s->read_warp_epoch = n->warp_epoch[n->thread / 32];
}

ON_FIBRE static void write_byte(const struct region *r, struct shadow *s, size_t offset, size_t bytes, bool atomic)
{
	const struct emulator_now *n = &emulator_now;
	if (is_now(r, s->read_launch, s->read_block) && !(n->kernel->may_race && !r->shared)) {
		int warp = n->thread / 32;
		bool others = s->flags & BYTE_READERS && s->read_epoch == n->epoch &&
		              (s->flags & BYTE_READER_WARPS || s->read_thread / 32 != warp ||
		               s->read_warp_epoch == n->warp_epoch[warp]);
		bool blocks = s->flags & BYTE_READER_BLOCKS && !n->kernel->fences;
		if (others || blocks || races(r, s->read_block, s->read_thread, s->read_epoch, s->read_warp_epoch))
			fail_race(r, offset, bytes, atomic ? "updates" : "writes", "read", blocks ? 0 : s->read_block,
			          s->read_thread);
	}
	bool updates = atomic || s->flags & BYTE_ATOMIC, may_race = n->kernel->may_race && !(r->shared && updates);
	if ((s->flags & BYTE_WRITTEN) && is_now(r, s->launch, s->block) && !(atomic && s->flags & BYTE_ATOMIC) &&
	    races(r, s->block, s->thread, s->epoch, s->warp_epoch) && !may_race) {
		/* Several threads may store the same value, which is known only after this store. */
		if (updates || bytes > sizeof pending.old)
			fail_race(r, offset, bytes, atomic ? "updates" : "writes", "wrote", s->block, s->thread);
		pending.region = r;
		pending.offset = offset;
		pending.bytes = bytes;
		pending.block = s->block;
		pending.thread = s->thread;
		memcpy(pending.old, r->at + offset, bytes);
	}
	s->launch = n->launch;
	s->block = n->block_id;
	s->epoch = n->epoch;
	s->thread = n->thread;
	s->warp_epoch = n->warp_epoch[n->thread / 32];
	s->flags = (uint8_t)((s->flags & ~BYTE_ATOMIC) | BYTE_WRITTEN | (atomic ? BYTE_ATOMIC : 0));
}

/* Shadows are zeroed or copied whole, so their padding is equal too. */
ON_FIBRE static inline bool same_shadow(const struct shadow *a, const struct shadow *b)
{
	uint32_t x[sizeof *a / 4], y[sizeof *a / 4], differ = 0;
	memcpy(x, a, sizeof x);
	memcpy(y, b, sizeof y);
	for (size_t i = 0; i < sizeof *a / 4; i++)
		differ |= x[i] ^ y[i];
	return differ == 0;
}

/* The bytes of an element usually have the same shadow; the first one's update then holds for all. */
ON_FIBRE static inline __attribute__((always_inline)) void
access_bytes(const struct region *r, size_t offset, size_t bytes, bool atomic,
             void (*one)(const struct region *r, struct shadow *s, size_t offset, size_t bytes, bool atomic))
{
	struct shadow *s = &r->shadow[offset], before;
	if (!bytes)
		return;
	memcpy(&before, s, sizeof before);
	one(r, s, offset, bytes, atomic);
	for (size_t i = 1; i < bytes; i++) {
		if (same_shadow(&s[i], &before))
			memcpy(&s[i], s, sizeof *s);
		else
			one(r, &s[i], offset, bytes, atomic);
	}
}

ON_FIBRE void emulator_settle(void)
{
	const struct region *r = pending.region;
	pending.region = NULL;
	if (r && memcmp(pending.old, r->at + pending.offset, pending.bytes) != 0) {
		if (pending.block == emulator_now.block_id)
			emulator_fail(
			        "writes %s[%zu] (%zu bytes) to which thread number %u wrote another value: a race",
			        r->name, pending.offset / pending.bytes, pending.bytes, pending.thread);
		emulator_fail("writes %s[%zu] (%zu bytes) to which another block wrote another value: a race", r->name,
		              pending.offset / pending.bytes, pending.bytes);
	}
}

void emulator_unsettle(void)
{
	pending.region = NULL;
}

ON_FIBRE void emulator_check_read(const void *p, size_t bytes, int aligned)
{
	size_t offset;
	emulator_settle();
	struct region *r = find(p, bytes, aligned, "reads", &offset);
	access_bytes(r, offset, bytes, false, read_byte);
}

/* Shared memory of another block in the cluster: must be written before the cluster's last barrier, and not again
 * before the next one. */
ON_FIBRE void emulator_check_cluster_read(void *to, const void *p, size_t bytes, int rank)
{
	const struct shared *own = &shared_of[emulator_now.rank], *other = &shared_of[rank];
	const void *from = NULL;
	uint32_t id = emulator_now.block_id - (uint32_t)emulator_now.rank + (uint32_t)rank;
	size_t offset;
	emulator_settle();
	for (int i = 0; i < own->vars && i < other->vars; i++) {
		size_t at = (size_t)((const char *)p - (const char *)own->var[i].at);
		if (at < own->var[i].bytes)
			from = (const char *)other->var[i].at + at;
	}
	if (own->dynamic && (size_t)((const char *)p - (const char *)own->dynamic) < own->dynamic_bytes)
		from = (const char *)other->dynamic + ((const char *)p - (const char *)own->dynamic);
	if (!from)
		emulator_fail("reads of block %d of its cluster what is not shared memory", rank);
	struct region *r = find(from, bytes, 1, "reads", &offset);
	for (size_t i = 0; i < bytes; i++) {
		struct shadow *s = &r->shadow[offset + i];
		if (!(s->flags & BYTE_WRITTEN) || s->block != id || s->epoch >= emulator_now.cluster_epoch)
			emulator_fail("reads %s[%zu] (%zu bytes) of block %d of its cluster, which that has not "
			              "written before a barrier of the cluster",
			              r->name, offset / bytes, bytes, rank);
		s->read_block = id;
		s->read_epoch = emulator_now.cluster_epoch + 1 + (uint32_t)rank; /* owner's accesses since then */
		s->read_thread = UINT16_MAX;
	}
	memcpy(to, from, bytes);
}

ON_FIBRE void emulator_check_write(void *p, size_t bytes, int aligned)
{
	size_t offset;
	emulator_settle();
	struct region *r = find(p, bytes, aligned, "writes", &offset);
	if (r->flags & EMULATOR_READ_ONLY)
		emulator_fail("writes %s[%zu], an input", r->name, offset / bytes);
	access_bytes(r, offset, bytes, false, write_byte);
}

ON_FIBRE void emulator_check_atomic_get(void *to, const void *p, size_t bytes)
{
	size_t offset;
	emulator_settle();
	struct region *r = find(p, bytes, 1, "updates", &offset);
	if (r->flags & EMULATOR_READ_ONLY)
		emulator_fail("updates %s[%zu], an input", r->name, offset / bytes);
	access_bytes(r, offset, bytes, true, read_byte);
	memcpy(to, p, bytes);
}

ON_FIBRE void emulator_check_atomic_put(void *p, const void *from, size_t bytes)
{
	size_t offset;
	struct region *r = find(p, bytes, 1, "updates", &offset);
	access_bytes(r, offset, bytes, true, write_byte);
	memcpy(p, from, bytes);
}

ON_FIBRE void emulator_check_argument(const void *p, int number)
{
	if (p && !region_of(p))
		emulator_fail("gets as argument %d a pointer that is not a live buffer of the emulator", number);
}

/* ---- Shared memory: one region per variable ---- */

void emulator_shared_begin(size_t dynamic_bytes)
{
	memset(shared_of, 0, sizeof shared_of);
	for (int rank = 0; rank < EMULATOR_BLOCKS; rank++)
		shared_of[rank].dynamic_bytes = dynamic_bytes;
}

void emulator_shared_end(void)
{
	for (int rank = 0; rank < EMULATOR_BLOCKS; rank++) {
		for (int i = 0; i < shared_of[rank].vars; i++)
			emulator_free(shared_of[rank].var[i].at);
		emulator_free(shared_of[rank].dynamic);
	}
	memset(shared_of, 0, sizeof shared_of);
}

ON_FIBRE static void *shared_new(const char *name, size_t bytes)
{
	struct region *r = region_new(name, bytes, 0, true);
	if (!r)
		emulator_fail("has no room in the emulator for its shared memory \"%s\"", name);
	return r->at;
}

void emulator_limit_shared(size_t bytes)
{
	shared_limit = bytes;
}

size_t emulator_shared_limit(void)
{
	return shared_limit;
}

ON_FIBRE void *emulator_shared_memory(int id, size_t bytes, const char *name)
{
	struct shared *shared = &shared_of[emulator_now.rank];
	for (int i = 0; i < shared->vars; i++)
		if (shared->var[i].id == id && shared->var[i].bytes == bytes)
			return shared->var[i].at;
	shared->static_bytes += bytes;
	if (shared->static_bytes > STATIC_SHARED_BYTES)
		emulator_fail("has %zu bytes of static shared memory; %d are allowed", shared->static_bytes,
		              STATIC_SHARED_BYTES);
	if (shared->static_bytes + shared->dynamic_bytes > shared_limit)
		emulator_fail("has %zu bytes of shared memory; %zu are allowed",
		              shared->static_bytes + shared->dynamic_bytes, shared_limit);
	if (shared->vars == SHARED_MAX)
		emulator_fail("has more than %d shared variables", SHARED_MAX);
	void *at = shared_new(name, bytes);
	shared->var[shared->vars].id = id;
	shared->var[shared->vars].bytes = bytes;
	shared->var[shared->vars++].at = at;
	return at;
}

ON_FIBRE void *emulator_shared_dynamic(const char *name)
{
	struct shared *shared = &shared_of[emulator_now.rank];
	if (!shared->dynamic)
		shared->dynamic = shared_new(name, shared->dynamic_bytes);
	return shared->dynamic;
}
