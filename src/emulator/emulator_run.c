/* The emulator's scheduler: blocks one after another, threads of a block as fibres that run until they wait. Kernels
 * without waits run their threads as plain calls, on one fibre. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/number.h"
#include "emulator/emulator_state.h"
#include "emulator/emulator_switch.h"

enum { THREADS = 1024, CLUSTER = 8, FIBRES = 2 * THREADS * CLUSTER, STACK = 128 << 10, GUARD = 4096 };
#define STACK_TEXT "128 KB"
enum state { READY, AT_BARRIER, AT_CLUSTER, AT_WARP, AT_WORD, GONE };

struct fibre {
	void *sp;
	enum state state;
	int rank;                  /* of its block */
	struct emulator_triple at; /* threadIdx */
	const char *file;          /* location of the wait */
	int line;
	/* At a warp's exchange: */
	int kind, lane, width;
	unsigned mask;
	uint64_t value, result;
	const uint64_t *word; /* AT_WORD: waits until it differs from `value` */
};

/* Lanes of a warp that have not ended, and those that wait at an exchange. */
struct warp {
	unsigned live, waiting;
};

struct emulator_now emulator_now;

/* A running block: alone, or with the others of its cluster or launch. */
struct block {
	uint32_t id, epoch; /* see emulator_now */
	unsigned x;         /* index in the grid */
	int alive, waiting;
	int votes, voters, vote_count; /* of the last barrier; of the one being reached */
	uint16_t warp_epoch[THREADS / 32];
};

static struct {
	struct fibre fibre[FIBRES];
	struct warp warp[FIBRES / 32];
	struct block block[EMULATOR_BLOCKS];
	char *stacks;
	void *scheduler;            /* its stack pointer while a fibre runs */
	int threads, blocks;        /* of a block; how many run at the same time */
	uint32_t epochs, block_ids; /* so far */
	void **args;
	struct emulator_index *here;
	bool failed;
	sigjmp_buf crashed;
	struct err *err;
} run;

/* ---- Faults ---- */

static void describe(const char *text)
{
	const struct emulator_index *h = run.here;
	if (!run.failed)
		err_set(run.err, ERR_DIFFER, "%s, block (%u, %u, %u), thread (%u, %u, %u): %s.",
		        emulator_now.kernel->name, h->block.x, h->block.y, h->block.z, h->thread.x, h->thread.y,
		        h->thread.z, text);
	run.failed = true;
}

ON_FIBRE void emulator_fail(const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	number_vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	describe(text);
	void *abandoned;
	emulator_switch(&abandoned, run.scheduler);
	__builtin_unreachable();
}

/* True for the page below a stack. Kernels are compiled so that a large frame touches it before what lies beyond. */
static bool is_guard(const char *at)
{
	size_t offset = (size_t)(at - run.stacks);
	return at >= run.stacks && offset < FIBRES * (size_t)(STACK + GUARD) && offset % (STACK + GUARD) < GUARD;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)context;
	describe(sig == SIGFPE             ? "divides an integer by zero, or the lowest by -1"
	         : is_guard(info->si_addr) ? "needs more than " STACK_TEXT " of local memory, and the emulator has no "
	                                     "more for a thread. Make its arrays smaller, or run it on a GPU"
	                                   : "accesses an address outside all memory");
	siglongjmp(run.crashed, 1);
}

/* ---- Fibres ---- */

ON_FIBRE static struct block *block_of(int fibre)
{
	return &run.block[run.fibre[fibre].rank];
}

ON_FIBRE static void set_thread(int fibre)
{
	struct emulator_index *h = run.here;
	const struct fibre *f = &run.fibre[fibre];
	const struct block *b = &run.block[f->rank];
	emulator_now.fibre = fibre;
	emulator_now.thread = (uint16_t)(fibre - f->rank * run.threads);
	emulator_now.rank = f->rank;
	emulator_now.block_id = b->id;
	emulator_now.epoch = b->epoch;
	emulator_now.warp_epoch = b->warp_epoch;
	h->fibre = (unsigned)fibre;
	h->rank = (unsigned)f->rank;
	h->block_id = b->id;
	h->block.x = b->x;
	h->thread = f->at;
}

ON_FIBRE static bool is_ready(struct fibre *f)
{
	if (f->state == AT_WORD && *f->word != f->value)
		f->state = READY;
	return f->state == READY;
}

/* Switches to the next fibre that can continue, or to the scheduler after the last one. */
ON_FIBRE static void suspend(void)
{
	int t = emulator_now.fibre, next = t + 1, end = run.threads * run.blocks;
	while (next < end && !is_ready(&run.fibre[next]))
		next++;
	if (next < end)
		set_thread(next);
	emulator_switch(&run.fibre[t].sp, next < end ? run.fibre[next].sp : run.scheduler);
}

static void complete_warp(int warp);

/* Entry of every fibre; runs one thread of each block. */
ON_FIBRE static void fibre_main(void)
{
	for (;;) {
		emulator_now.kernel->call(run.args);
		emulator_settle();
		int t = emulator_now.fibre;
		run.fibre[t].state = GONE;
		block_of(t)->alive--;
		run.warp[t / 32].live &= ~(1u << t % 32);
		complete_warp(t / 32);
		suspend();
	}
}

/* The only fibre of kernels without waits. */
ON_FIBRE static void plain_main(void)
{
	for (;;) {
		for (int t = 0; t < run.threads; t++) {
			set_thread(t);
			emulator_now.kernel->call(run.args);
		}
		emulator_settle();
		set_thread(0);
		run.block[0].alive = 0;
		emulator_switch(&run.fibre[0].sp, run.scheduler);
	}
}

static int make_stacks(struct err *e)
{
	if (run.stacks)
		return 0;
	size_t each = STACK + GUARD;
	char *p = mmap(NULL, FIBRES * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return err_set(e, ERR_DEVICE, "The emulator has no memory for %d stacks.", FIBRES);
	for (int t = 0; t < FIBRES; t++)
		mprotect(p + (size_t)t * each, GUARD, PROT_NONE);
	run.stacks = p;
	return 0;
}

/* The top of a fibre's stack. All stacks start at the same offset in a page; without a different offset for each lane,
 * the lanes of a warp would share a few sets of the cache. */
static char *stack_top(int fibre)
{
	return run.stacks + (size_t)(fibre + 1) * (STACK + GUARD) - fibre % 32 * 320;
}

/* Each thread's place in its block, and its stack. */
static void reset_fibres(bool fibres)
{
	const struct emulator_triple size = run.here->block_dim;
	for (int t = 0; t < run.threads * run.blocks; t++) {
		const unsigned u = (unsigned)(t % run.threads);
		run.fibre[t].rank = t / run.threads;
		run.fibre[t].at = (struct emulator_triple){ u % size.x, u / size.x % size.y, u / size.x / size.y };
	}
	for (int t = 0; t < (fibres ? run.threads * run.blocks : 1); t++)
		run.fibre[t].sp = emulator_stack_new(stack_top(t), fibres ? fibre_main : plain_main);
}

/* ---- Barriers ---- */

static void release(struct block *b, enum state state)
{
	int first = (int)(b - run.block) * run.threads;
	b->epoch = ++run.epochs;
	for (int t = first; t < first + run.threads; t++)
		if (run.fibre[t].state == state)
			run.fibre[t].state = READY;
}

static void release_barrier(struct block *b)
{
	b->votes = b->vote_count;
	b->voters = b->waiting;
	b->vote_count = 0;
	b->waiting = 0;
	release(b, AT_BARRIER);
}

/* Releases the cluster's barrier when all remaining threads are at it. */
static bool release_cluster(void)
{
	int there = 0, alive = 0;
	for (int t = 0; t < run.threads * run.blocks; t++)
		there += run.fibre[t].state == AT_CLUSTER;
	for (int i = 0; i < run.blocks; i++)
		alive += run.block[i].alive;
	if (!there || there != alive)
		return false;
	emulator_now.cluster_epoch = ++run.epochs;
	for (int i = 0; i < run.blocks; i++)
		release(&run.block[i], AT_CLUSTER);
	return true;
}

ON_FIBRE static void cluster_barrier(const char *file, int line)
{
	struct fibre *f = &run.fibre[emulator_now.fibre];
	emulator_settle();
	if (!emulator_now.kernel->fibres)
		emulator_fail("waits for its cluster, which the emulator did not find in its text (%s:%d)", file, line);
	f->file = file;
	f->line = line;
	f->state = AT_CLUSTER;
	suspend();
}

ON_FIBRE static int barrier(int vote, int value, const char *file, int line)
{
	struct fibre *f = &run.fibre[emulator_now.fibre];
	struct block *b = block_of(emulator_now.fibre);
	int first = emulator_now.rank * run.threads;
	emulator_settle();
	if (!emulator_now.kernel->fibres)
		emulator_fail("waits at a barrier that the emulator did not find in its text (%s:%d)", file, line);
	for (int t = 0; t < run.threads && b->waiting; t++) {
		const struct fibre *other = &run.fibre[first + t];
		if (other->state == AT_BARRIER &&
		    (other->line != line || (other->file != file && strcmp(other->file, file) != 0)))
			emulator_fail("is at the barrier in %s:%d while thread number %d is at that in %s:%d", file,
			              line, t, other->file, other->line);
		if (other->state == AT_BARRIER)
			break;
	}
	f->state = AT_BARRIER;
	f->file = file;
	f->line = line;
	b->waiting++;
	b->vote_count += value;
	suspend();
	return vote == EMULATOR_VOTE_COUNT ? b->votes
	       : vote == EMULATOR_VOTE_AND ? b->votes == b->voters
	                                   : b->votes != 0;
}

/* ---- Warps ---- */

/* The value that a lane takes from another one. */
ON_FIBRE static uint64_t shuffled(int warp, int lane, unsigned group)
{
	const struct fibre *w = &run.fibre[warp * 32], *f = &w[lane];
	int first = lane & ~(f->width - 1), last = first + f->width - 1, from = lane;
	switch (f->kind) {
	case EMULATOR_SHUFFLE: from = first + (f->lane & (f->width - 1)); break;
	case EMULATOR_SHUFFLE_UP: from = lane - f->lane < first ? lane : lane - f->lane; break;
	case EMULATOR_SHUFFLE_DOWN: from = lane + f->lane > last ? lane : lane + f->lane; break;
	case EMULATOR_SHUFFLE_XOR: from = (lane ^ f->lane) > last ? lane : lane ^ f->lane; break;
	default: return 0;
	}
	if (!(group >> from & 1)) {
		set_thread(warp * 32 + lane);
		emulator_fail("takes in %s:%d the value of lane %d, which does not take part", f->file, f->line, from);
	}
	return w[from].value;
}

/* Releases the group that waits with this lane, once it is complete. */
ON_FIBRE static void complete_group(int warp, int lane)
{
	struct fibre *w = &run.fibre[warp * 32];
	unsigned group = w[lane].mask & run.warp[warp].live;
	uint64_t votes = 0;
	if (group & ~run.warp[warp].waiting)
		return;
	for (int i = 0; i < 32; i++)
		if (group >> i & 1) {
			if (w[i].mask != w[lane].mask || w[i].kind != w[lane].kind)
				return;
			votes |= (uint64_t)(w[i].value != 0) << i;
		}
	for (int i = 0; i < 32; i++)
		if (group >> i & 1)
			w[i].result = w[lane].kind == EMULATOR_BALLOT ? votes : shuffled(warp, i, group);
	if (w[lane].kind == EMULATOR_SYNC_WARP)
		block_of(warp * 32)->warp_epoch[warp * 32 % run.threads / 32]++;
	for (int i = 0; i < 32; i++)
		if (group >> i & 1)
			w[i].state = READY;
	run.warp[warp].waiting &= ~group;
}

/* After a lane has exited: others may have waited only for it. */
ON_FIBRE static void complete_warp(int warp)
{
	for (int lane = 0; lane < 32 && run.warp[warp].waiting; lane++)
		if (run.warp[warp].waiting >> lane & 1)
			complete_group(warp, lane);
}

ON_FIBRE static uint64_t exchange(int kind, unsigned mask, uint64_t value, int lane, int width, const char *file,
                                  int line)
{
	int t = emulator_now.fibre;
	struct fibre *f = &run.fibre[t];
	emulator_settle();
	if (!emulator_now.kernel->fibres)
		emulator_fail("exchanges with its warp, which the emulator did not find in its text (%s:%d)", file,
		              line);
	if (!(mask >> (t % 32) & 1))
		emulator_fail("is not in the mask 0x%x of its own exchange in %s:%d", mask, file, line);
	f->kind = kind;
	f->mask = mask;
	f->value = value;
	f->lane = lane;
	f->width = width;
	f->file = file;
	f->line = line;
	f->state = AT_WARP;
	run.warp[t / 32].waiting |= 1u << t % 32;
	complete_group(t / 32, t % 32);
	suspend(); /* the last one too: lanes continue in order */
	return f->result;
}

ON_FIBRE static unsigned active_lanes(void)
{
	return run.warp[emulator_now.fibre / 32].live;
}

/* ---- Words that another thread changes ---- */

ON_FIBRE static void until_not(const uint64_t *word, uint64_t value, const char *file, int line)
{
	struct fibre *f = &run.fibre[emulator_now.fibre];
	emulator_settle();
	if (!emulator_now.kernel->fibres)
		emulator_fail("waits for a word, which the emulator did not find in its text (%s:%d)", file, line);
	f->word = word;
	f->value = value;
	f->file = file;
	f->line = line;
	f->state = AT_WORD;
	suspend();
}

ON_FIBRE static void order(void)
{
	emulator_settle();
	emulator_now.epoch = block_of(emulator_now.fibre)->epoch = ++run.epochs;
}

/* ---- Blocks ---- */

static const char *what_state(enum state s)
{
	return s == AT_BARRIER   ? "barrier"
	       : s == AT_CLUSTER ? "cluster's barrier"
	       : s == AT_WORD    ? "word"
	                         : "warp exchange";
}

/* Reports that all threads wait, but for different things. */
static void report_divergence(void)
{
	int first = -1;
	for (int t = 0; t < run.threads * run.blocks; t++) {
		const struct fibre *f = &run.fibre[t], *g = &run.fibre[first < 0 ? t : first];
		if (f->state == GONE)
			continue;
		if (first < 0)
			first = t;
		if (f->state == g->state && f->line == g->line && f->mask == g->mask)
			continue;
		char text[512];
		snprintf(text, sizeof text,
		         "waits forever at the %s in %s:%d, as thread number %d is at the %s in %s:%d",
		         what_state(f->state), f->file, f->line, first, what_state(g->state), g->file, g->line);
		set_thread(t);
		describe(text);
		return;
	}
	set_thread(first < 0 ? 0 : first);
	describe("waits forever at a warp exchange for lanes that do not come");
}

static void resume(int t)
{
	if (emulator_now.kernel->fibres)
		set_thread(t);
	emulator_switch(&run.scheduler, run.fibre[t].sp);
}

static void begin_block(int rank, unsigned x)
{
	struct block *b = &run.block[rank];
	*b = (struct block){ .id = ++run.block_ids, .epoch = ++run.epochs, .x = x, .alive = run.threads };
	for (int t = rank * run.threads; t < (rank + 1) * run.threads; t++) {
		run.fibre[t].state = READY;
		if (t % 32 == 0)
			run.warp[t / 32] = (struct warp){ 0 };
		run.warp[t / 32].live |= 1u << t % 32;
	}
}

/* Resumes every fibre that can continue, in order; returns true if any could. */
static bool run_fibres(void)
{
	for (int t = 0; t < run.threads * run.blocks; t++)
		if (is_ready(&run.fibre[t])) {
			resume(t); /* and all later ones */
			return true;
		}
	return false;
}

/* Runs the blocks of a cluster (usually one), or of a whole launch, concurrently. */
static void run_blocks(void)
{
	int alive = run.threads * run.blocks;
	if (!emulator_now.kernel->fibres) {
		set_thread(0);
		resume(0);
		return;
	}
	while (alive && !run.failed) {
		bool went = run_fibres();
		if (run.failed)
			return;
		alive = 0;
		for (int i = 0; i < run.blocks; i++) {
			struct block *b = &run.block[i];
			alive += b->alive;
			if (b->waiting && b->waiting == b->alive) {
				release_barrier(b);
				went = true;
			}
		}
		went |= release_cluster();
		if (!went && alive)
			report_divergence();
	}
}

static void run_grid(const uint32_t grid[3])
{
	struct emulator_index *h = run.here;
	unsigned blocks = (unsigned)run.blocks;
	reset_fibres(emulator_now.kernel->fibres);
	for (h->block.z = 0; h->block.z < grid[2]; h->block.z++)
		for (h->block.y = 0; h->block.y < grid[1]; h->block.y++)
			for (unsigned x = 0; x < grid[0]; x += blocks) {
				for (unsigned rank = 0; rank < blocks; rank++)
					begin_block((int)rank, x + rank);
				run_blocks();
				if (run.failed)
					return;
			}
}

/* ---- Launches ---- */

const struct emulator_host *emulator_host_table(struct err *e)
{
	static struct emulator_host host = {
		.read = emulator_check_read,
		.write = emulator_check_write,
		.atomic_get = emulator_check_atomic_get,
		.atomic_put = emulator_check_atomic_put,
		.barrier = barrier,
		.cluster_barrier = cluster_barrier,
		.cluster_read = emulator_check_cluster_read,
		.exchange = exchange,
		.active_lanes = active_lanes,
		.until_not = until_not,
		.order = order,
		.shared = emulator_shared_memory,
		.dynamic_shared = emulator_shared_dynamic,
		.argument = emulator_check_argument,
		.fail = emulator_fail,
		.copy = memmove,
		.fill = memset,
	};
	return emulator_memory_open(&host.base, &host.span, e) < 0 ? NULL : &host;
}

static const struct emulator_kernel *find_kernel(const struct emulator_module *m, const char *text, const char *name)
{
	for (const struct emulator_kernel *const *table = m->table; *table; table++)
		for (const struct emulator_kernel *k = *table; k->name; k++)
			if (strcmp(k->name, name) == 0 && (!text || strcmp(k->text, text) == 0))
				return k;
	return NULL;
}

bool emulator_has_kernel(const struct emulator_module *m, const char *name)
{
	return find_kernel(m, NULL, name) != NULL;
}

int emulator_together(int threads)
{
	int most = FIBRES / threads;
	return most < EMULATOR_BLOCKS ? most : EMULATOR_BLOCKS;
}

/* Rejects sizes that cuLaunchKernel would reject. */
static int check_sizes(const struct emulator_kernel *k, const uint32_t grid[3], const uint32_t block[3],
                       uint32_t shared_bytes, struct err *e)
{
	uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
	if (threads == 0 || threads > THREADS || block[0] > THREADS || block[1] > THREADS || block[2] > 64)
		return err_set(e, ERR_USAGE, "%s: a block of %u x %u x %u threads is not possible.", k->name, block[0],
		               block[1], block[2]);
	if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[0] > 0x7fffffff || grid[1] > 65535 || grid[2] > 65535)
		return err_set(e, ERR_USAGE, "%s: a grid of %u x %u x %u blocks is not possible.", k->name, grid[0],
		               grid[1], grid[2]);
	if (k->most_threads && threads > (uint64_t)k->most_threads)
		return err_set(e, ERR_USAGE, "%s: is launched with %d threads a block; its __launch_bounds__ allow %d.",
		               k->name, (int)threads, k->most_threads);
	if (k->cluster > CLUSTER || (k->cluster && (grid[0] % (uint32_t)k->cluster != 0 || threads % 32 != 0)))
		return err_set(e, ERR_USAGE, "%s: %u blocks of %d threads cannot form clusters of %d.", k->name,
		               grid[0], (int)threads, k->cluster);
	if (k->together && (threads % 32 != 0 || (uint64_t)grid[1] * grid[2] != 1 ||
	                    grid[0] > (uint32_t)emulator_together((int)threads)))
		return err_set(e, ERR_USAGE, "%s: %u blocks of %d threads are more than run at the same time.", k->name,
		               grid[0], (int)threads);
	if (shared_bytes > emulator_shared_limit())
		return err_set(e, ERR_USAGE, "%s: asks for %u bytes of dynamic shared memory.", k->name, shared_bytes);
	return 0;
}

static const int signals[] = { SIGFPE, SIGSEGV, SIGBUS };
enum { SIGNALS = sizeof signals / sizeof *signals };

/* Runs the grid and catches processor faults. */
static void run_caught(const uint32_t grid[3])
{
	static char signal_stack[64 << 10];
	struct sigaction old[SIGNALS], new = { .sa_sigaction = on_signal, .sa_flags = SA_ONSTACK | SA_SIGINFO };
	stack_t old_stack, stack = { .ss_sp = signal_stack, .ss_size = sizeof signal_stack };
	sigaltstack(&stack, &old_stack);
	for (int i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &new, &old[i]);
	if (sigsetjmp(run.crashed, 1) == 0)
		run_grid(grid);
	for (int i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &old[i], NULL);
	sigaltstack(&old_stack, NULL);
}

int emulator_launch(struct emulator_module *m, const char *text, const char *kernel, const uint32_t grid[3],
                    const uint32_t block[3], uint32_t shared_bytes, void **args, struct err *e)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const struct emulator_kernel *k = find_kernel(m, text, kernel);
	if (!k)
		return err_set(e, ERR_USAGE, "The module has no kernel \"%s\"%s%s.", kernel, text ? " in " : "",
		               text ? text : "");
	TRY(check_sizes(k, grid, block, shared_bytes, e));
	pthread_mutex_lock(&lock);
	int rc = make_stacks(e);
	if (rc == 0) {
		run.here = m->here;
		run.here->block_dim = (struct emulator_triple){ block[0], block[1], block[2] };
		run.here->grid_dim = (struct emulator_triple){ grid[0], grid[1], grid[2] };
		run.threads = (int)(block[0] * block[1] * block[2]);
		run.blocks = k->together ? (int)grid[0] : k->cluster ? k->cluster : 1;
		run.args = args;
		run.err = e;
		run.failed = false;
		emulator_now.kernel = k;
		emulator_now.launch++;
		emulator_shared_begin(shared_bytes);
		run_caught(grid);
		emulator_shared_end();
		emulator_unsettle();
		emulator_now.kernel = NULL;
		rc = run.failed ? e->code : 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

void emulator_tensor_map(void *out, const struct tpat_rt_map_values *values)
{
	struct emulator_map m = { .from = values->from,
		                  .element_bytes = (signed char)values->element_bytes,
		                  .rank = (signed char)values->rank,
		                  .pixels = values->pixels };
	_Static_assert(sizeof m <= TPAT_RT_MAP_BYTES, "it is passed as one of CUDA's");
	for (int d = 0; d < values->rank; d++) {
		m.dim[d] = (int)values->dim[d];
		m.stride[d] = values->stride[d];
		m.box[d] = (short)values->box[d];
		m.first[d] = (short)values->first[d];
		m.step[d] = (signed char)values->step[d];
		m.count[d] = (int)values->count[d];
	}
	memset(out, 0, TPAT_RT_MAP_BYTES);
	memcpy(out, &m, sizeof m);
}
