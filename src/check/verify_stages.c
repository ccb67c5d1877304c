/* The stages' results of reference and device. See verify_stages.h. */
#include "check/verify_stages.h"

#include <string.h>

#include "check/verify.h"
#include "dev/dev.h"
#include "eval/eval.h"

enum { NEIGHBOURS = 3 }; /* on each side */

/* ---- The reference. */

static void add(struct verify_stages *s, struct ir_program *q, struct ir_buffer *b)
{
	if (b->role != IR_TEMP && b->role != IR_OUTPUT)
		return;
	vec_push(s->arena, &q->outputs, b);
	vec_push(s->arena, &s->all, (struct verify_stage){ .buf = b });
}

int verify_stages_new(struct verify_stages **out, const struct ir_program *p, const struct tensor *const *inputs,
                      struct dev *d, struct arena *a, struct err *e)
{
	struct verify_stages *s = NEW(a, struct verify_stages);
	struct ir_program q = *p;
	struct ir_buffer *made;
	*s = (struct verify_stages){ .dev = d, .arena = a };
	memset(&q.outputs, 0, sizeof q.outputs);
	vec_each (stage, &p->stages)
		for (int i = 0; (made = ir_stage_made(*stage, i)); i++)
			add(s, &q, made);
	enum ir_role *role = NEWN(a, enum ir_role, s->all.n + 1);
	struct tensor *want = NEWN(a, struct tensor, s->all.n + 1);
	for (int i = 0; i < s->all.n; i++) { /* every one is stored, for this run */
		role[i] = q.outputs.at[i]->role;
		q.outputs.at[i]->role = IR_OUTPUT;
	}
	int rc = eval_program(&q, inputs, want, NULL, a, e);
	for (int i = 0; i < s->all.n; i++) {
		q.outputs.at[i]->role = role[i];
		s->all.at[i].want = want[i];
	}
	*out = s;
	return rc;
}

/* ---- The device. */

static int alloc(void *user, const char *name, size_t bytes, void **pointer, struct err *e)
{
	struct verify_stages *s = user;
	TRY(s->inner.alloc(s->inner.user, name, bytes, pointer, e));
	if (strcmp(name, "workspace") == 0) {
		s->begin = *pointer;
		s->end = s->begin + bytes;
	}
	return 0;
}

static void release(void *user, void *pointer)
{
	struct verify_stages *s = user;
	s->inner.free(s->inner.user, pointer);
}

static int wait_for(void *user, void *stream, struct err *e)
{
	struct verify_stages *s = user;
	return s->inner.wait(s->inner.user, stream, e);
}

static int read(void *user, void *to, const void *from, size_t bytes, struct err *e)
{
	struct verify_stages *s = user;
	return s->inner.read(s->inner.user, to, from, bytes, e);
}

struct host_memory verify_stages_memory(struct verify_stages *s, const struct host_memory *inner)
{
	s->inner = *inner;
	return (struct host_memory){ .user = s, .alloc = alloc, .free = release, .wait = wait_for, .read = read };
}

void verify_stages_set(struct verify_stages *s, const struct ir_buffer *of, const struct tensor *got)
{
	vec_each (x, &s->all)
		if (x->buf == of)
			x->got = *got;
}

bool verify_stages_has(const struct verify_stages *s, const struct ir_buffer *of)
{
	vec_each (x, &s->all)
		if (x->buf == of)
			return true;
	return false;
}

static struct verify_stage *stage_named(struct verify_stages *s, const char *name)
{
	vec_each (x, &s->all)
		if (strcmp(x->buf->name, name) == 0)
			return x;
	return NULL;
}

/* Keeps the tensor at `from`. A buffer that is not complete yet is read after a later launch. */
static void keep(struct verify_stages *s, struct verify_stage *x, const char *from)
{
	struct err ignored = { 0 };
	struct tensor got;
	size_t bytes = (size_t)tensor_bytes(&x->want);
	bool inside = s->begin && from >= s->begin && from + bytes <= s->end;
	if (!inside || tensor_new(&got, x->want.type, x->want.rank, x->want.dim, s->arena, &ignored) < 0)
		return;
	if (s->dev->copy_out(s->dev, got.data, from, bytes, &ignored) == 0)
		x->got = got;
}

void verify_stages_launched(struct verify_stages *s, const struct tpat_rt_plugin *plugin,
                            const struct tpat_rt_kernel *kernel, void **args)
{
	struct err ignored = { 0 };
	if (s->dev->synchronize(s->dev, &ignored) < 0)
		return;
	for (int i = 0; i < kernel->args; i++) {
		const struct tpat_rt_arg *arg = &kernel->arg[i];
		if (arg->kind != TPAT_RT_ARG_BUFFER || plugin->buffer[arg->index].data)
			continue;
		struct verify_stage *x = stage_named(s, plugin->buffer[arg->index].name);
		if (x)
			keep(s, x, *(const char *const *)args[i]);
	}
}

/* ---- The first difference. */

static double number(const struct tensor *t, int64_t i)
{
	return type_is_float(t->type) ? tensor_float(t, i) : (double)tensor_int(t, i);
}

static void put_place(struct str *text, const struct verify_stage *x, int64_t i)
{
	str_add(text, x->buf->name);
	verify_place(text, &x->want, i);
}

static void put_numbers(struct str *text, const struct tensor *t, int64_t from, int64_t to)
{
	for (int64_t i = from; i < to; i++)
		str_printf(text, "%s%.9g", i > from ? ", " : " ", number(t, i));
}

static const char *first_text(const struct verify_stage *x, int64_t i, struct arena *a)
{
	struct str text = str_new(a);
	int64_t length = x->want.rank ? x->want.dim[x->want.rank - 1] : 1, row = i / length * length;
	int64_t from = i - NEIGHBOURS > row ? i - NEIGHBOURS : row;
	int64_t to = i + NEIGHBOURS + 1 < row + length ? i + NEIGHBOURS + 1 : row + length;
	put_place(&text, x, i);
	str_printf(&text, ": got %.9g, want %.9g", number(&x->got, i), number(&x->want, i));
	if (to - from > 1) {
		str_add(&text, "; from ");
		put_place(&text, x, from);
		str_add(&text, " on: got");
		put_numbers(&text, &x->got, from, to);
		str_add(&text, "; want");
		put_numbers(&text, &x->want, from, to);
	}
	return arena_strdup(a, str_text(&text));
}

const char *verify_stages_first(const struct verify_stages *s,
                                struct tensor_tolerance (*tolerance)(void *user, const struct tensor *want), void *user,
                                struct arena *a)
{
	vec_each (x, &s->all) {
		struct tensor_difference d;
		if (tensor_compare(&d, &x->got, &x->want, tolerance(user, &x->want)) && d.differing)
			return first_text(x, d.first, a);
	}
	return NULL;
}

int verify_stages_entries(const struct verify_stages *s, struct npz_entry *entry, int n, struct arena *a)
{
	vec_each (x, &s->all) {
		const char *name = x->buf->name;
		entry[n++] = (struct npz_entry){ .name = arena_printf(a, "want_%s", name), .tensor = x->want };
		if (x->got.data)
			entry[n++] = (struct npz_entry){ .name = arena_printf(a, "got_%s", name), .tensor = x->got };
	}
	return n;
}
