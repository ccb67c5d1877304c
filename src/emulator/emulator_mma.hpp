/* For tpat_mma.h on the emulator: what the lanes of a warp show each other, and copies that are under way. Part of
 * emulator_cuda.hpp. */
#ifndef TPAT_EMULATOR_EMULATOR_MMA_H
#define TPAT_EMULATOR_EMULATOR_MMA_H

enum { EMULATOR_SHOWN = 16, EMULATOR_SHOWS = 4, EMULATOR_COPIES = 128, EMULATOR_THREADS = 8192 };

/* The thread's number among all concurrent ones. */
static inline EMULATOR_RAW int emulator_thread() { return (int)emulator_here.fibre; }

/* ---- Values of a warp: each lane's n bytes, EMULATOR_SHOWN apart. They stand until the warp has shown two more times. Lanes
 * wait for each other as in a vote, which orders no accesses to memory. ---- */
static struct {
	unsigned block[EMULATOR_THREADS]; /* whose count it is */
	unsigned count[EMULATOR_THREADS];
	char value[EMULATOR_SHOWS][EMULATOR_THREADS][EMULATOR_SHOWN];
} emulator_shown;

static inline EMULATOR_RAW const char *emulator_show(const void *value, size_t n)
{
	int t = emulator_thread();
	if (emulator_shown.block[t] != emulator_here.block_id) {
		emulator_shown.block[t] = emulator_here.block_id;
		emulator_shown.count[t] = 0;
	}
	unsigned turn = emulator_shown.count[t]++ % EMULATOR_SHOWS;
	emulator_host.copy(emulator_shown.value[turn][t], value, n);
	emulator_host.exchange(EMULATOR_BALLOT, 0xffffffff, 1, 0, 32, __FILE__, __LINE__);
	return emulator_shown.value[turn][t & ~31];
}

/* ---- Copies arrive when the thread waits for them, not before: until then there is nothing but ones. ---- */
struct emulator_copy {
	void *to;
	unsigned bytes, group;
	char data[16];
};
static struct emulator_copies {
	unsigned block, group; /* closed until now */
	int n;
	struct emulator_copy copy[EMULATOR_COPIES];
} emulator_copies[EMULATOR_THREADS];

static inline EMULATOR_RAW struct emulator_copies *emulator_copies_here()
{
	struct emulator_copies *c = &emulator_copies[emulator_thread()];
	if (c->block != emulator_here.block_id) {
		c->block = emulator_here.block_id;
		c->group = 0;
		c->n = 0;
	}
	return c;
}

static inline EMULATOR_RAW void emulator_copy_async(void *to, const void *from, size_t n, bool inside)
{
	struct emulator_copies *c = emulator_copies_here();
	if (c->n == EMULATOR_COPIES)
		emulator_host.fail("has more copies under way than the emulator holds");
	struct emulator_copy *copy = &c->copy[c->n++];
	char ones[16];
	copy->to = to;
	copy->bytes = (unsigned)n;
	copy->group = c->group;
	memset(copy->data, 0, sizeof copy->data);
	memset(ones, 0xff, sizeof ones);
	if (inside)
		emulator_load(copy->data, from, n);
	emulator_store(to, ones, n);
}

static inline EMULATOR_RAW void emulator_copy_commit() { emulator_copies_here()->group++; }

static inline EMULATOR_RAW void emulator_copy_wait(unsigned newest)
{
	struct emulator_copies *c = emulator_copies_here();
	int left = 0;
	for (int i = 0; i < c->n; i++) {
		if (c->copy[i].group + newest < c->group)
			emulator_store(c->copy[i].to, c->copy[i].data, c->copy[i].bytes);
		else
			c->copy[left++] = c->copy[i];
	}
	c->n = left;
}

/* ---- Barriers that count arrivals and bytes: a word with the phases that are over, the bytes that are missing, the arrivals
 * that are missing, and how many these are. ---- */
static inline EMULATOR_RAW void emulator_barrier_change(uint64_t *word, int64_t arrivals, int64_t bytes)
{
	*word = *word + ((uint64_t)bytes << 24) - ((uint64_t)arrivals << 12);
	if ((*word >> 12 & 0xfffffffff) == 0) {
		*word += ((uint64_t)1 << 60) + ((*word & 0xfff) << 12);
		emulator_host.order();
	}
}

static inline EMULATOR_RAW void emulator_barrier_new(uint64_t *word, int arrivals)
{
	*word = (uint64_t)arrivals << 12 | (uint64_t)arrivals;
}

static inline EMULATOR_RAW void emulator_barrier_wait(const uint64_t *word, int parity)
{
	while ((int)(*word >> 60 & 1) == parity)
		emulator_host.until_not(word, *word, __FILE__, __LINE__);
}

/* The columns from `column` on of a tensor's row that begins at element `place`, as row r of a tile of 128-byte rows, whose
 * 16-byte pieces change places; zeros outside of the tensor. */
static inline EMULATOR_RAW void emulator_row_load(char *to, int r, const struct emulator_map *m, int64_t place, int column,
                                                  bool inside)
{
	const int n = m->element_bytes, each = 16 / n;
	for (int c = 0; c < m->box[0]; c += each) {
		char piece[16] = { 0 };
		const int x = column + c, count = m->box[0] - c < each ? m->box[0] - c : each;
		const int first = x < 0 ? -x : 0, last = m->dim[0] - x < count ? m->dim[0] - x : count;
		char *const at = to + r * 128 + (c / each ^ r % 8) * 16;
		if (inside && first < last) {
			const char *from = m->from + (place + x + first) * n;
			emulator_host.read(from, (size_t)(last - first) * n, 0);
			emulator_host.copy(piece + first * n, from, (size_t)(last - first) * n);
		}
		if (count == each)
			emulator_store(at, piece, 16);
		else
			for (int k = 0; k < count; k++)
				emulator_store(at + k * n, piece + k * n, n);
	}
}

/* The driver makes a map only for such addresses. */
static inline EMULATOR_RAW void emulator_map_check(const struct emulator_map *m)
{
	if ((uintptr_t)m->from % 16 != 0)
		emulator_host.fail("copies from a tensor map whose address is not a multiple of 16");
}

/* A tile of the tensor. */
static inline EMULATOR_RAW void emulator_tile_load(char *to, const void *map, uint64_t *barrier, const int *at)
{
	const struct emulator_map *m = (const struct emulator_map *)map;
	int rows = 1;
	for (int d = 1; d < m->rank; d++)
		rows *= m->box[d];
	if (m->pixels)
		emulator_host.fail("copies a box from a tensor map of a walk");
	emulator_map_check(m);
	for (int r = 0; r < rows; r++) {
		int64_t place = 0;
		bool inside = true;
		for (int d = 1, left = r; d < m->rank; d++) {
			const int64_t x = at[d] + left % m->box[d];
			left /= m->box[d];
			inside = inside && x >= 0 && x < m->dim[d];
			place += x * m->stride[d];
		}
		emulator_row_load(to, r, m, place, at[0], inside);
	}
	emulator_barrier_change(barrier, 0, -(int64_t)rows * m->box[0] * m->element_bytes);
}

/* The same of a walk: from the position `at` on, each moved by `by`. */
static inline EMULATOR_RAW void emulator_walk_load(char *to, const void *map, uint64_t *barrier, const int *at, const int *by)
{
	const struct emulator_map *m = (const struct emulator_map *)map;
	const int n = m->element_bytes, last = m->rank - 1;
	int here[5];
	if (!m->pixels)
		emulator_host.fail("walks over a tensor by a map of boxes");
	emulator_map_check(m);
	for (int d = 1; d <= last; d++)
		here[d] = d < last ? (at[d] - m->first[d]) / m->step[d] : at[d];
	for (int r = 0; r < m->pixels; r++) {
		bool inside = here[last] < m->dim[last];
		int64_t place = here[last] * m->stride[last];
		for (int d = 1; d < last; d++) {
			const int x = m->first[d] + here[d] * m->step[d] + by[d - 1];
			inside = inside && x >= 0 && x < m->dim[d];
			place += x * m->stride[d];
		}
		emulator_row_load(to, r, m, place, at[0], inside);
		here[1]++;
		for (int d = 1; d < last && here[d] == m->count[d]; d++) {
			here[d] = 0;
			here[d + 1]++;
		}
	}
	emulator_barrier_change(barrier, 0, -(int64_t)m->pixels * m->box[0] * n);
}

#endif
