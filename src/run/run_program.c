/* One program on a device: its code, memory and launches. See run_inside.h. */
#include "run/run_inside.h"

#include <string.h>

#include "gen/language.h"
#include "ir/buffers.h"

struct running {
	struct run_session *s;
	struct run_piece *piece;
	const struct ir_plan *plan; /* the piece's */
	struct ir_inputs inputs;    /* determine the symbols */
	void **memory;              /* by buffer id */
	int *last;                  /* by buffer id: the last step that uses it */
	int *ref;                   /* by buffer id: what its memory is, as in run_value */
	struct {
		VEC(struct tpat_rt_map_values *);
	} maps; /* of the kernel that is about to be launched */
	struct err *err;
};

/* The device with the extents of the inputs that there are now. */
static struct sched_target target_now(struct run_session *s, struct ir_program *p, struct ir_inputs *inputs)
{
	struct sched_target t = s->on.target;
	int most = t.extents;
	for (int i = 0; i < p->inputs.n; i++)
		most += p->inputs.at[i]->rank;
	struct sched_extent *extent = NEWN(s->shared->arena, struct sched_extent, most + 1);
	t.extents = 0;
	for (int i = 0; i < p->inputs.n && s->on.fit && inputs; i++)
		for (int k = 0; k < p->inputs.at[i]->rank; k++) {
			expr x = p->inputs.at[i]->dim[k];
			int64_t n;
			bool known = x->op != IR_SYMBOL || !ir_inputs_symbol(inputs, x, &n) || n < 1;
			for (int j = 0; j < t.extents && !known; j++)
				known = extent[j].symbol == x;
			if (!known)
				extent[t.extents++] = (struct sched_extent){ x, n };
		}
	for (int i = 0; i < s->on.target.extents; i++)
		extent[t.extents++] = s->on.target.extent[i];
	t.extent = extent;
	return t;
}

static const struct ir_plan *plan_of(struct run_session *s, struct run_piece *p, struct ir_inputs *inputs)
{
	const struct run_device *on = &s->on;
	struct sched_target t = target_now(s, p->program, inputs);
	return sched_program(p->program, &t,
	                     on->choose ? on->choose(on->user, p->program, &t, p->region->label) : NULL);
}

/* The code of a text: what the caller keeps, or compiled. */
static int code_of(struct dev_code *out, struct run_session *s, const struct dev_source *source, struct err *e)
{
	struct dev *d = s->on.dev;
	const struct run_codes *c = &s->shared->codes;
	bool found = c->find && c->find(c->user, out, source, s->shared->arena);
	if (!found)
		TRY(d->compile(d, out, source, NULL, s->shared->arena, e));
	if (c->made)
		c->made(c->user, source, out, found);
	return 0;
}

int run_program_compile(struct run_session *s, struct run_piece *p, struct ir_inputs *inputs, struct err *e)
{
	struct dev *d = s->on.dev;
	const struct language *l = language_of(d->props.language);
	struct str text = str_new(s->shared->arena);
	struct dev_code code;
	if (!p->plan)
		p->plan = plan_of(s, p, inputs);
	if (p->module || !p->plan->steps.n)
		return 0;
	l->print(&text, &p->plan, 1);
	p->module = map_get(&s->shared->modules, str_text(&text));
	if (p->module)
		return 0;
	struct dev_source source = { .file = arena_printf(s->shared->arena, "piece%s", l->ending),
		                     .text = str_text(&text),
		                     .may_race = ir_replaces(p->program) };
	TRY(code_of(&code, s, &source, e));
	TRY(d->load(d, &p->module, &code, e));
	map_put(&s->shared->modules, str_text(&text), p->module);
	if (s->watch.compiled)
		s->watch.compiled(s->watch.user, p->region->label);
	return 0;
}

/* ---- What a launch needs. */

static bool symbol_value(void *user, expr symbol, int64_t *value)
{
	return ir_inputs_symbol(&((struct running *)user)->inputs, symbol, value);
}

static int read_count(void *user, int64_t *value, const struct ir_buffer *count, struct err *e)
{
	const struct running *r = user;
	struct dev *d = r->s->on.dev;
	run_record_stop(r->s);
	run_unlock(r->s);
	int rc = d->copy_out(d, value, r->memory[count->id], sizeof *value, e);
	run_lock(r->s);
	return rc;
}

static void *memory_of(void *user, const struct ir_buffer *b)
{
	return ((struct running *)user)->memory[b->id];
}

static int tensor_map(void *user, void *out, const struct tpat_rt_map_values *v, struct err *e)
{
	struct running *r = user;
	struct tpat_rt_map_values *own = NEW(r->s->run, struct tpat_rt_map_values);
	*own = *v;
	vec_push(r->s->run, &r->maps, own);
	return dev_tensor_map(r->s->on.dev, out, v, e);
}

static int together(void *user, int threads)
{
	return dev_together(((struct running *)user)->s->on.dev, threads);
}

static void *copy(struct arena *a, const void *from, size_t bytes, size_t alignment)
{
	char *to = arena_alloc(a, bytes + alignment);
	to += (alignment - (uintptr_t)to % alignment) % alignment;
	return memcpy(to, from, bytes);
}

/* Arguments in their order: pointers, extents, numbers, tensor maps. */
static void **copy_args(struct arena *a, const struct ir_kernel *k, void **args)
{
	void **to = NEWN(a, void *, ir_kernel_args(k) + k->maps.n + 1);
	int n = 0;
	for (int i = 0; i < k->buffers.n; i++, n++)
		to[n] = copy(a, args[n], sizeof(void *), sizeof(void *));
	for (int i = 0; i < k->symbols.n; i++, n++)
		to[n] = copy(a, args[n], k->index64 ? sizeof(int64_t) : sizeof(int32_t), sizeof(int64_t));
	for (int i = 0; i < k->parameters.n; i++, n++)
		to[n] = copy(a, args[n], ir_parameter_is_wide(&k->parameters.at[i]) ? sizeof(int64_t) : sizeof(int32_t),
		             sizeof(int64_t));
	for (int i = 0; i < k->maps.n; i++, n++)
		to[n] = copy(a, args[n], TPAT_RT_MAP_BYTES, 64);
	return to;
}

static const struct ir_buffer *buffer_of(const struct running *r, const struct ir_buffer *view)
{
	return r->plan->program->buffers.at[view->id];
}

/* The node whose result the kernel writes: of a tensor that leaves the piece, else of one inside it. */
static const char *node_of(const struct running *r, const struct ir_kernel *k)
{
	const struct ir_program *p = r->plan->program;
	const struct graph_region *region = r->piece->region;
	const char *inside = "";
	for (int i = 0; i < p->outputs.n; i++)
		vec_each (b, &k->written)
			if (buffer_of(r, *b) == p->outputs.at[i] && i < region->outputs.n &&
			    region->outputs.at[i]->producer >= 0)
				return r->s->graph->nodes.at[region->outputs.at[i]->producer].label;
	vec_each (b, &k->written)
		if (buffer_of(r, *b)->node)
			inside = buffer_of(r, *b)->node;
	return inside;
}

static double bytes_of(struct running *r, const struct ir_launcher *l, const struct ir_kernel *k)
{
	double sum = 0;
	struct err ignored = { 0 };
	for (int i = 0; i < k->buffers.n; i++) {
		size_t bytes = 0;
		bool again = false;
		for (int j = 0; j < i; j++)
			again |= k->buffers.at[j]->id == k->buffers.at[i]->id;
		if (!again && ir_buffer_bytes(&bytes, l, buffer_of(r, k->buffers.at[i]), &ignored) == 0)
			sum += (double)bytes;
	}
	return sum;
}

/* Notes the arguments that are addresses of the caller's. */
static void note_patches(struct running *r, const struct ir_kernel *k, void **args)
{
	struct run_record *x = r->s->record;
	int first = ir_kernel_args(k);
	for (int i = 0; x && i < k->buffers.n; i++)
		if (r->ref[k->buffers.at[i]->id])
			vec_push(r->s->run, &x->patches,
			         ((struct run_patch){ args[i], r->ref[k->buffers.at[i]->id], NULL }));
	for (int i = 0; x && i < k->maps.n; i++)
		if (r->ref[k->maps.at[i].buf->id])
			vec_push(r->s->run, &x->patches,
			         ((struct run_patch){ args[first + i], r->ref[k->maps.at[i].buf->id], r->maps.at[i] }));
	r->maps.n = 0;
}

static int launch(void *user, const struct ir_kernel *k, const uint32_t grid[3], const uint32_t block[3], void **args,
                  struct err *e)
{
	struct running *r = user;
	struct run_session *s = r->s;
	struct dev *d = s->on.dev;
	struct run_launch x = { .piece = r->piece->region->label, .node = node_of(r, k), .kernel = k };
	TRY(d->kernel(d, &x.function, r->piece->module, k->name, k->shared_bytes, e));
	memcpy(x.grid, grid, sizeof x.grid);
	memcpy(x.block, block, sizeof x.block);
	x.args = copy_args(s->run, k, args);
	note_patches(r, k, x.args);
	vec_push(s->run, &s->launches, x);
	run_unlock(s);
	int rc = dev_launch(d, x.function, &(struct dev_launch){ grid, block, k->shared_bytes, k->early, k->together },
	                    x.args, e);
	run_lock(s);
	return rc;
}

/* ---- Memory: a buffer has it from the first step that uses it to the last one. */

static void note(struct running *r, const struct ir_buffer *view, int step)
{
	r->last[view->id] = step;
}

static void note_uses(struct running *r)
{
	const struct ir_program *p = r->plan->program;
	for (int i = 0; i < r->plan->steps.n; i++)
		vec_each (k, r->plan->steps.at[i]) {
			vec_each (b, &(*k)->buffers)
				note(r, *b, i);
			vec_each (m, &(*k)->maps)
				note(r, m->buf, i);
		}
	vec_each (b, &p->buffers)
		if ((*b)->role != IR_TEMP)
			r->last[(*b)->id] = INT32_MAX;
	vec_each (b, &p->outputs)
		r->last[(*b)->id] = INT32_MAX;
	vec_each (size, &p->sizes)
		r->last[size->count->id] = INT32_MAX;
}

/* The caller's memory for a result, if its extents are known. */
static int place(struct running *r, const struct ir_launcher *l, void **at, const struct ir_buffer *b)
{
	const struct ir_program *p = r->plan->program;
	struct tensor t = { .type = b->type, .rank = b->rank };
	int i = 0;
	while (i < p->outputs.n && p->outputs.at[i] != b)
		i++;
	if (!r->s->places || i == p->outputs.n || b->role == IR_CONSTANT)
		return 0;
	for (int k = 0; k < b->rank; k++) {
		if (ir_size_limit(p, b->dim[k]) != b->dim[k]) /* found at run time */
			return 0;
		TRY(ir_launch_value(l, b->dim[k], &t.dim[k], r->err));
	}
	return run_value_place(at, &r->ref[b->id], r->s, r->piece->region->outputs.at[i], &t, r->err);
}

static int ensure(struct running *r, const struct ir_launcher *l, const struct ir_buffer *b)
{
	struct run_session *s = r->s;
	void **at = &r->memory[b->id], *constant = r->piece->constant[b->id];
	size_t bytes;
	if (!*at)
		*at = constant;
	if (*at)
		return 0;
	TRY(ir_buffer_bytes(&bytes, l, b, r->err));
	if (b->role == IR_CONSTANT) {
		TRY(run_constant(at, s, b->data->data, bytes, b->name, r->err));
		r->piece->constant[b->id] = *at;
		return 0;
	}
	TRY(place(r, l, at, b));
	return *at ? 0 : run_memory_take(at, &s->memory, bytes, b->name, r->err);
}

static int run_step(struct running *r, const struct ir_launcher *l, int step)
{
	const struct ir_kernel *k;
	TRY(ir_launch_choose(&k, l, r->plan->steps.at[step], r->err));
	if (!k)
		return 0;
	vec_each (b, &k->buffers)
		TRY(ensure(r, l, buffer_of(r, *b)));
	vec_each (m, &k->maps)
		TRY(ensure(r, l, buffer_of(r, m->buf)));
	TRY(ir_launch_kernel(l, k, r->err));
	r->s->launches.at[r->s->launches.n - 1].bytes = bytes_of(r, l, k);
	return 0;
}

static void give_back(struct running *r, int step)
{
	for (int i = 0; i < r->plan->program->buffers.n; i++)
		if (r->last[i] == step && r->memory[i])
			run_memory_give(&r->s->memory, r->memory[i]);
}

/* ---- Results. */

static int take_outputs(struct running *r, const struct ir_launcher *l, struct run_value *const *inputs,
                        struct run_value *outputs)
{
	const struct ir_program *p = r->plan->program;
	for (int i = 0; i < p->outputs.n; i++) {
		const struct ir_buffer *b = p->outputs.at[i];
		struct run_value *v = &outputs[i];
		TRY(ensure(r, l, b)); /* an empty result has no kernel */
		v->tensor = (struct tensor){ .type = b->type, .rank = b->rank };
		TRY(ir_output_extents(v->tensor.dim, b, &(struct ir_found){ r->inputs, read_count, r }, r->err));
		v->at = r->memory[b->id];
		v->ref = r->ref[b->id];
		for (int k = 0; k < p->inputs.n; k++)
			if (inputs[k]->at == v->at)
				inputs[k]->shared = v->shared = true;
		for (int k = 0; k < i; k++)
			if (outputs[k].at == v->at)
				outputs[k].shared = v->shared = true;
		v->shared |= b->role == IR_CONSTANT;
	}
	return 0;
}

/* Like the interpreter, before anything runs: a kernel reads one tensor over another's extents. Sizes that are found at
 * run time count with their limits, as for buffers; after the kernels, run_on_device() checks what they turned out to
 * be. */
static int check_demand(struct running *r, const struct ir_demand *d)
{
	return ir_demand_check(r->plan->program, d, symbol_value, r, r->s->run, r->err);
}

static int check_demands(struct running *r)
{
	struct ir_program *p = r->plan->program;
	vec_each (d, &p->demands) {
		struct ir_demand limits;
		TRY(check_demand(r, d));
		if (ir_demand_of_limits(p, d, &limits) && check_demand(r, &limits) < 0) {
			r->piece->too_large = true;
			return r->err->code;
		}
	}
	return 0;
}

static int check_input(struct running *r, const struct ir_launcher *l, const struct ir_buffer *b,
                       const struct run_value *v)
{
	size_t bytes;
	int64_t n;
	TRY(ir_buffer_bytes(&bytes, l, b, r->err));
	if (tensor_bytes(&v->tensor) != (int64_t)bytes)
		return err_set(r->err, ERR_MODEL, "%s has %lld bytes, but the program needs %zu.", v->value->name,
		               (long long)tensor_bytes(&v->tensor), bytes);
	for (int k = 0; k < b->rank && b->rank == v->tensor.rank; k++) {
		TRY(ir_launch_value(l, b->dim[k], &n, r->err));
		if (v->tensor.dim[k] != n)
			return err_set(r->err, ERR_MODEL, "Extent %d of %s is %lld, but the program needs %lld.", k,
			               v->value->name, (long long)v->tensor.dim[k], (long long)n);
	}
	return 0;
}

static int run_on_device(struct running *r, struct run_value *const *inputs, struct run_value *outputs)
{
	const struct ir_program *p = r->plan->program;
	const struct ir_launcher l = {
		r->plan->program, r->s->on.dev->props.arch, symbol_value, memory_of, tensor_map, launch, together, r
	};
	r->memory = NEWN(r->s->run, void *, p->buffers.n + 1);
	r->last = NEWN(r->s->run, int, p->buffers.n + 1);
	r->ref = NEWN(r->s->run, int, p->buffers.n + 1);
	for (int i = 0; i < p->buffers.n; i++)
		r->last[i] = -1;
	note_uses(r);
	TRY(check_demands(r));
	for (int i = 0; i < p->inputs.n; i++) {
		TRY(check_input(r, &l, p->inputs.at[i], inputs[i]));
		TRY(run_value_device(r->s, inputs[i], r->err));
		r->memory[p->inputs.at[i]->id] = inputs[i]->at;
		r->ref[p->inputs.at[i]->id] = inputs[i]->ref;
	}
	for (int i = 0; i < r->plan->steps.n; i++) {
		TRY(run_step(r, &l, i));
		give_back(r, i);
	}
	TRY(ir_found_demands(&(struct ir_found){ r->inputs, read_count, r }, r->s->run, r->err));
	return take_outputs(r, &l, inputs, outputs);
}

int run_program(struct run_session *s, struct run_piece *piece, struct run_value *const *inputs,
                struct run_value *outputs, struct err *e)
{
	struct ir_program *p = piece->program;
	const struct tensor **in = NEWN(s->run, const struct tensor *, p->inputs.n + 1);
	for (int i = 0; i < p->inputs.n; i++) {
		bool decides = ir_value_is(p, p->inputs.at[i]); /* its elements decide extents */
		bool on_host = !s->on.dev || decides || (piece->on_host && run_reads(p, i));
		if (on_host && !inputs[i]->value->is_constant)
			run_record_stop(s);
		if (on_host)
			TRY(run_value_host(s, inputs[i], e));
		in[i] = &inputs[i]->tensor;
	}
	if (!s->on.dev || piece->on_host)
		return run_interpret(s, p, in, outputs, e);
	struct running r = { .s = s, .piece = piece, .inputs = { p, in }, .err = e };
	TRY(run_program_compile(s, piece, &r.inputs, e));
	r.plan = piece->plan;
	if (!piece->constant)
		piece->constant = NEWN(s->shared->arena, void *, p->buffers.n + 1);
	return run_on_device(&r, inputs, outputs);
}
