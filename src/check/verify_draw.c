/* Random shapes and values for a tensor program, tried until the program accepts them. */
#include "check/verify_draw.h"

#include <string.h>

#include "check/sample.h"
#include "eval/eval.h"

enum {
	FULL_RUNS = 3, /* one per range of extents, with a larger budget than later ones */
	HALVINGS = 5,  /* of extents that take too much work */
	ATTEMPTS = DRAW_SCALES * DRAW_PER_SCALE,
};

/* Operations and bytes per run; the emulator does about 1e7 multiplications and additions per second. */
static const double FULL_WORK = 1e7, LATER_WORK = 5e5;

/* Rejects extents that make an inner tensor empty, such as a convolution over an input that is too small: models are
 * hardly made for them. They count if nothing better is found. */
static int refuse_empty(struct draw *d)
{
	int64_t n;
	vec_each (b, &d->c->reference->buffers)
		for (int k = 0; k < (*b)->rank && (*b)->role == IR_TEMP; k++)
			if ((*b)->dim[k]->op != IR_CONST_INT && ir_eval_int((*b)->dim[k], draw_known, d, &n) && n <= 0)
				return err_set(d->err, ERR_MODEL, "With these extents %s becomes empty.", (*b)->name);
	return 0;
}

/* Extents and values; `last`: also accept extents that make a tensor empty. */
static int draw_all(struct draw *d, struct tensor *inputs, bool last)
{
	memset(inputs, 0, sizeof *inputs * (size_t)d->c->reference->inputs.n);
	TRY(draw_extents(d));
	TRY(draw_inputs(d, inputs));
	return last ? 0 : refuse_empty(d);
}

static const struct tensor **pointers_to(const struct draw *d, const struct tensor *inputs)
{
	int n = d->c->reference->inputs.n;
	const struct tensor **in = NEWN(d->arena, const struct tensor *, n + 1);
	for (int i = 0; i < n; i++)
		in[i] = &inputs[i];
	return in;
}

/* Operations of a run, and the bytes of its inputs and outputs: the emulator keeps a record of each byte's last writer
 * and readers, which takes longer than most arithmetic on it, and 37 times the memory. */
static double work_of(const struct draw *d, const struct tensor *inputs)
{
	const struct ir_program *p = d->c->reference;
	const struct tensor **in = pointers_to(d, inputs);
	double work = sample_work(p, in);
	for (int i = 0; i < p->inputs.n; i++)
		work += (double)tensor_bytes(in[i]);
	vec_each (b, &p->outputs)
		work += sample_bytes(p, *b, in);
	return work;
}

/* Halves the extents until the run is cheap, as long as the program accepts them. */
static void lighten(struct draw *d, struct tensor *inputs, uint64_t state)
{
	const struct ir_program *p = d->c->reference;
	struct tensor *smaller = NEWN(d->arena, struct tensor, p->inputs.n + 1);
	double work = work_of(d, inputs), less, most = d->run < FULL_RUNS ? FULL_WORK : LATER_WORK;
	struct map symbols = d->symbols;
	struct err unused = { 0 }, *e = d->err;
	d->err = &unused;
	while (d->drawn && work > most && d->halved < HALVINGS) {
		d->halved++;
		d->state = state;
		if (draw_all(d, smaller, false) < 0 || (less = work_of(d, smaller)) >= work)
			break;
		memcpy(inputs, smaller, sizeof *inputs * (size_t)p->inputs.n);
		symbols = d->symbols;
		work = less;
	}
	d->symbols = symbols;
	d->err = e;
}

static int try_once(struct draw *d, struct tensor *inputs, struct tensor *want, bool last)
{
	const struct ir_program *p = d->c->reference;
	uint64_t state = d->state;
	d->halved = 0;
	TRY(draw_all(d, inputs, last));
	if (d->c->most_work == 0) /* else the run may be large: not all results are computed here */
		lighten(d, inputs, state);
	const struct tensor **in = pointers_to(d, inputs);
	if (!want)
		return 0;
	if (d->c->most_work > 0 && sample_work(p, in) > d->c->most_work) {
		memset(want, 0, sizeof *want * (size_t)p->outputs.n);
		return 0;
	}
	int rc;
	while ((rc = eval_program(p, in, want, NULL, d->arena, d->err)) == ERR_MODEL && d->halved) {
		err_clear(d->err); /* a demand that only results show, such as the first 130 of a row */
		d->halved--;
		d->state = state;
		TRY(draw_all(d, inputs, last));
		in = pointers_to(d, inputs);
	}
	return rc;
}

static bool is_fixed(const struct ir_buffer *b)
{
	int64_t n;
	for (int k = 0; k < b->rank; k++)
		if (!ir_const_int(b->dim[k], &n))
			return false;
	return true;
}

static bool is_dynamic(const struct ir_program *p)
{
	vec_each (b, &p->inputs)
		if (!is_fixed(*b))
			return true;
	return false;
}

bool verify_fixed(const struct verify_case *c)
{
	for (int i = 0; i < c->reference->inputs.n; i++)
		if (!is_fixed(c->reference->inputs.at[i]) && !c->input[i].tensor && c->input[i].rank < 0)
			return false;
	return !c->reference->values.n;
}

static int keep(struct tensor *t, struct arena *a, struct err *e)
{
	struct tensor copy;
	if (!t->data)
		return 0;
	TRY(tensor_new(&copy, t->type, t->rank, t->dim, a, e));
	memcpy(copy.data, t->data, (size_t)tensor_bytes(t));
	*t = copy;
	return 0;
}

/* Copies the drawn tensors out of the attempt's memory. */
static int keep_all(const struct draw *d, struct tensor *inputs, struct tensor *want, struct arena *a)
{
	const struct ir_program *p = d->c->reference;
	for (int i = 0; i < p->inputs.n; i++)
		if (!d->c->input[i].tensor)
			TRY(keep(&inputs[i], a, d->err));
	for (int o = 0; want && o < p->outputs.n; o++)
		TRY(keep(&want[o], a, d->err));
	return 0;
}

/* One attempt in its own arena: the program's may be `a`, where its expressions would stay. */
static int attempt(struct draw *d, struct tensor *inputs, struct tensor *want, bool last, struct arena *a)
{
	d->arena = arena_new();
	int rc = try_once(d, inputs, want, last);
	if (rc == 0)
		rc = keep_all(d, inputs, want, a);
	arena_free(d->arena);
	return rc;
}

int verify_draw(struct tensor *inputs, struct tensor *want, const struct verify_case *c, int run, struct arena *a,
                struct err *e)
{
	struct draw d = { .c = c, .run = run, .err = e };
	int attempts = is_dynamic(c->reference) ? ATTEMPTS : 1, rc;
	char hash[33];
	ir_hash(c->reference, hash); /* not the name, which differs between builds */
	do {
		d.state = hash_u64(hash_str(c->seed, hash), (uint64_t)(run * ATTEMPTS + d.attempt));
		rc = attempt(&d, inputs, want, d.attempt + DRAW_PER_SCALE >= attempts, a);
		if (rc != ERR_MODEL || d.attempt + 1 == attempts)
			break;
		err_clear(e);
	} while (++d.attempt < attempts);
	if (rc == ERR_MODEL && attempts > 1 && d.drawn)
		err_advise(e, "No extents that fit were found in %d attempts; give them with --shape NAME:1x3x64x64.",
		           attempts);
	return rc;
}
