/* The checker of kernels: see kernel.h. A fault that it reports is a bug in the rule that built the kernel. */
#include "ir/kernel.h"

/* Uniformity is a number of neighbouring threads that have the same value, or take the same branch: about a power of
 * two, or ALL_THREADS for the whole block. */
enum { ALL_THREADS = 1 << 20 };

/* A variable in scope. */
struct known {
	const struct ir_variable *variable;
	bool mutable;
};

struct checker {
	const struct ir_kernel *kernel;
	struct err *err;
	struct arena *scratch;
	struct {
		VEC(struct known);
	} scope;
	struct map uniform; /* uniformity by a variable's address; absent: ALL_THREADS */
	bool serial;        /* a single thread: no barriers */
	bool more;          /* `uniform` has changed */
	int flow;           /* uniformity of the control flow at this point */
	int loops;
	int rc;
};

static void complain(struct checker *c, const char *what, const char *name)
{
	if (c->rc)
		return;
	c->rc = err_set(c->err, ERR_DIFFER, "kernel %s: %s%s%s.", c->kernel->name, what, *name ? " " : "", name);
	err_advise(c->err, "This is a bug in tpat; please report it with the model.");
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* ---- Uniformity of values. */

static int uniformity(const struct checker *c, const struct ir_variable *v)
{
	if (v->kind == IR_THREAD_NUMBER)
		return 1;
	const int *have = map_get_u64(&c->uniform, (uintptr_t)v);
	return have ? *have : ALL_THREADS;
}

static void set_uniform(struct checker *c, const struct ir_variable *v, int threads)
{
	threads = least(threads, c->flow);
	if (threads >= uniformity(c, v))
		return;
	int *have = NEW(c->scratch, int);
	*have = threads;
	map_put_u64(&c->uniform, (uintptr_t)v, have);
	c->more = true;
}

static bool is_thread(expr e)
{
	return e->op == IR_VAR && e->var->kind == IR_THREAD_NUMBER;
}

static int uniformity_in(const struct checker *c, expr e)
{
	int64_t by;
	if (!e)
		return ALL_THREADS;
	if (e->op == IR_FLOORDIV && is_thread(e->arg[0]) && ir_const_int(e->arg[1], &by))
		return (int)by;
	if (e->op == IR_LT && is_thread(e->arg[0]) && ir_const_int(e->arg[1], &by)) /* the first threads of a block */
		return (int)by;
	int n = e->op == IR_VAR || e->op == IR_ELEMENT ? uniformity(c, e->var) : ALL_THREADS;
	for (int i = 0; i < e->n && e->op != IR_VAR; i++)
		n = least(n, uniformity_in(c, e->arg[i]));
	return n;
}

static void mark_block(struct checker *c, const struct ir_block *b);

static int uniformity_in_loop(const struct checker *c, const struct ir_for *f)
{
	return least(uniformity_in(c, f->from), least(uniformity_in(c, f->to), uniformity_in(c, f->step)));
}

/* Updates the uniformity of the variables that a statement sets. */
static void mark_stmt(struct checker *c, const struct ir_stmt *s)
{
	switch (s->kind) {
	case IR_DECLARE: set_uniform(c, s->declare.var, uniformity_in(c, s->declare.value)); break;
	case IR_ASSIGN: set_uniform(c, s->assign.var, uniformity_in(c, s->assign.value)); break;
	case IR_SET:
		set_uniform(c, s->set.array, least(uniformity_in(c, s->set.value), uniformity_in(c, s->set.at)));
		break;
	case IR_LOAD_VECTOR:
		set_uniform(c, s->vector.array,
		            least(uniformity_in(c, s->vector.at), uniformity_in(c, s->vector.where)));
		break;
	case IR_FOR: set_uniform(c, s->loop.var, uniformity_in_loop(c, &s->loop)); break;
	case IR_LANES_COMBINE:
		if (s->lanes.columns || s->lanes.apart)
			set_uniform(c, s->lanes.var, 1);
		break;
	case IR_LANES_SCAN:
		set_uniform(c, s->scan.part, 1);
		set_uniform(c, s->scan.sum, s->scan.lanes > 32 ? ALL_THREADS : s->scan.lanes);
		break;
	case IR_ITEMS_SCAN:
		set_uniform(c, s->items.parts, 1);
		set_uniform(c, s->items.sum, s->items.lanes > 32 ? ALL_THREADS : s->items.lanes);
		break;
	case IR_LAMBDA:
		vec_each (v, &s->lambda.parameters)
			set_uniform(c, *v, 1);
		break;
	default: break;
	}
}

/* Uniformity of the condition under which a statement's body, or the rest of its block, runs. */
static int branch_uniformity(const struct checker *c, const struct ir_stmt *s)
{
	switch (s->kind) {
	case IR_IF: return uniformity_in(c, s->branch.condition);
	case IR_RETURN_IF:
	case IR_BREAK_IF: return uniformity_in(c, s->leave);
	case IR_FOR: return uniformity_in_loop(c, &s->loop);
	case IR_LAMBDA: return 1;
	default: return ALL_THREADS;
	}
}

/* Threads that return are gone for the rest of the kernel; threads that leave a loop rejoin after it. */
static void mark_block(struct checker *c, const struct ir_block *b)
{
	int outside = c->flow;
	bool returns = false;
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		int around = c->flow;
		mark_stmt(c, s);
		c->flow = least(around, branch_uniformity(c, s));
		if (ir_stmt_body(s))
			mark_block(c, ir_stmt_body(s));
		if (s->kind == IR_RETURN_IF)
			returns = true;
		else if (s->kind != IR_BREAK_IF)
			c->flow = around;
	}
	if (!returns)
		c->flow = outside;
}

/* ---- Expressions. */

static const struct known *find(const struct checker *c, const struct ir_variable *v)
{
	vec_each (k, &c->scope)
		if (k->variable == v)
			return k;
	return NULL;
}

static bool built_in(const struct ir_variable *v)
{
	return v->kind == IR_THREAD_NUMBER || v->kind == IR_BLOCK_NUMBER || v->kind == IR_SYMBOL_HOLDER ||
	       v->kind == IR_SHARED_MEMORY;
}

static void check_use(struct checker *c, const struct ir_variable *v)
{
	if (!built_in(v) && !find(c, v))
		complain(c, "uses a variable that is not in scope:", v->hint);
}

/* True if the index is known to be outside the array. */
static bool outside(expr at, int dim)
{
	int64_t x;
	if (ir_const_int(at, &x))
		return x < 0 || x >= dim;
	return at->op == IR_VAR && at->n && ir_const_int(at->arg[0], &x) && x > dim;
}

static void check_index(struct checker *c, const struct ir_variable *v, int rank, expr at)
{
	if (at->type != TYPE_INDEX)
		complain(c, "an index of another type, into the array", v->hint);
	else if (rank < v->rank && outside(at, v->dim[rank]))
		complain(c, "an index out of bounds of the array", v->hint);
}

static bool is_argument(const struct ir_kernel *k, const struct ir_buffer *b)
{
	vec_each (own, &k->buffers)
		if (*own == b)
			return true;
	return ir_kernel_shares(k, b);
}

static void check_node(void *user, expr e)
{
	struct checker *c = user;
	if (e->op == IR_VAR || e->op == IR_ELEMENT)
		check_use(c, e->var);
	if (e->op == IR_LOAD && !is_argument(c->kernel, e->buf))
		complain(c, "reads a buffer that is not an argument:", e->buf->name);
	if (e->op == IR_AXIS || e->op == IR_ACC)
		complain(c, "an axis or an accumulator, which a kernel does not have", "");
	if (e->op != IR_VAR && e->op != IR_ELEMENT)
		return;
	if (e->type != e->var->type)
		complain(c, "a variable is used as of another type:", e->var->hint);
	if (e->var->rank != (e->op == IR_VAR ? 0 : e->n))
		complain(c, "a variable is used as of another rank:", e->var->hint);
	for (int i = 0; i < e->n && e->op == IR_ELEMENT; i++)
		check_index(c, e->var, i, e->arg[i]);
}

static void check_type(struct checker *c, expr e, enum type t, const char *what)
{
	if (e && e->type != t)
		complain(c, "a type other than required:", what);
}

/* ---- Statements. */

static void declare(struct checker *c, const struct ir_variable *v, bool mutable)
{
	if (find(c, v))
		complain(c, "declares a variable twice:", v->hint);
	if (v->kind == IR_CALLED)
		complain(c, "declares a variable by its hint alone:", v->hint);
	vec_push(c->scratch, &c->scope, ((struct known){ v, mutable }));
}

/* Checks a variable that is assigned here. */
static void check_changed(struct checker *c, const struct ir_variable *v)
{
	const struct known *k = find(c, v);
	if (!k)
		complain(c, "changes a variable that is not in scope:", v->hint);
	else if (!k->mutable)
		complain(c, "changes a constant:", v->hint);
}

static void check_set(struct checker *c, const struct ir_set *s)
{
	check_changed(c, s->array);
	if (s->array->rank != (s->row ? 2 : 1))
		complain(c, "sets a variable of another rank:", s->array->hint);
	if (s->row)
		check_index(c, s->array, 0, s->row);
	check_index(c, s->array, s->row ? 1 : 0, s->at);
	check_type(c, s->value, s->array->type, s->array->hint);
}

static void check_assign(struct checker *c, const struct ir_assign *s)
{
	check_changed(c, s->var);
	if (s->var->rank)
		complain(c, "sets a variable of another rank:", s->var->hint);
	check_type(c, s->value, s->var->type, s->var->hint);
}

static void check_vector(struct checker *c, const struct ir_vector *s, bool store)
{
	const struct ir_variable *v = s->array;
	if (store)
		check_use(c, v);
	else if (s->stands)
		check_changed(c, v);
	if (store && (s->stands || s->where))
		complain(c, "stores a vector as if it loaded it:", v->hint);
	if (v->rank != (s->row ? 2 : 1) || v->dim[v->rank - 1] < s->width || v->type != s->buf->type)
		complain(c, "moves a vector of another length or type:", v->hint);
	if (s->row)
		check_index(c, v, 0, s->row);
	check_type(c, s->at, TYPE_INDEX, s->buf->name);
	check_type(c, s->where, TYPE_BOOL, "a condition");
}

static void check_store(struct checker *c, const struct ir_buffer *buf, expr at, expr value)
{
	check_type(c, at, TYPE_INDEX, buf->name);
	check_type(c, value, buf->type, buf->name);
}

static void check_buffer(struct checker *c, const struct ir_stmt *s, const struct ir_buffer *b)
{
	bool writes = s->kind == IR_STORE || s->kind == IR_UPDATE || s->kind == IR_STORE_VECTOR;
	if (!is_argument(c->kernel, b))
		complain(c, "a buffer that is not an argument:", b->name);
	if (writes && !ir_kernel_writes(c->kernel, b) && !ir_kernel_shares(c->kernel, b))
		complain(c, "writes a read-only buffer:", b->name);
}

static bool is_map(const struct ir_kernel *k, const struct ir_variable *v)
{
	vec_each (m, &k->maps)
		if (m->var == v)
			return true;
	return false;
}

static void check_arg(void *user, const struct ir_arg *a)
{
	struct checker *c = user;
	if (a->var && !is_map(c->kernel, a->var))
		check_use(c, a->var);
	for (int i = 0; i < a->indices && a->var; i++)
		check_index(c, a->var, i, a->index[i]);
	if (a->buf && !is_argument(c->kernel, a->buf))
		complain(c, "passes on a buffer that is not an argument:", a->buf->name);
	if (a->written && !ir_kernel_writes(c->kernel, a->buf) && !ir_kernel_shares(c->kernel, a->buf))
		complain(c, "passes on a read-only buffer for writing:", a->buf->name);
}

static void check_call(struct checker *c, const struct ir_call *call)
{
	const char *fault = ir_call_fault(c->kernel, call);
	if (call->object)
		check_use(c, call->object);
	ir_call_each(call, check_arg, c);
	if (fault)
		complain(c, fault, call->function->name);
}

/* Checks that an object has a type of the headers, or is placed after an existing variable. */
static void check_object(struct checker *c, const struct ir_variable *v, bool typed)
{
	const struct ir_object *o = v->object;
	if (o && !ir_template_fits(o->type->of, &o->of))
		complain(c, "an object of another template:", v->hint);
	if (typed && !o && v->type == TYPE_NONE)
		complain(c, "an object without a type:", v->hint);
}

static void check_place(struct checker *c, const struct ir_place *s)
{
	check_object(c, s->var, false);
	check_use(c, s->after);
	if (!c->kernel->shared_bytes)
		complain(c, "places an object in shared memory that its launch does not request:", s->var->hint);
}

/* Checks that all of these threads reach a collective statement. */
static void check_reached(struct checker *c, int threads)
{
	if (!c->serial && c->flow < threads)
		complain(c, "a barrier in divergent control flow", "");
}

static void check_loop(struct checker *c, const struct ir_for *s)
{
	check_type(c, s->from, TYPE_INDEX, s->var->hint);
	check_type(c, s->to, TYPE_INDEX, s->var->hint);
	check_type(c, s->step, TYPE_INDEX, s->var->hint);
}

static void check_scan(struct checker *c, const struct ir_variable *part, const struct ir_variable *sum, int lanes)
{
	check_reached(c, lanes > 32 ? ALL_THREADS : lanes);
	check_changed(c, part);
	check_changed(c, sum);
}

static void check_own(struct checker *c, const struct ir_stmt *s)
{
	switch (s->kind) {
	case IR_DECLARE: check_type(c, s->declare.value, s->declare.var->type, s->declare.var->hint); break;
	case IR_ASSIGN: check_assign(c, &s->assign); break;
	case IR_SET: check_set(c, &s->set); break;
	case IR_IF: check_type(c, s->branch.condition, TYPE_BOOL, "a condition"); break;
	case IR_RETURN_IF: check_type(c, s->leave, TYPE_BOOL, "a condition"); break;
	case IR_BREAK_IF:
		check_type(c, s->leave, TYPE_BOOL, "a condition");
		if (!c->loops)
			complain(c, "leaves a loop outside all loops", "");
		break;
	case IR_FOR: check_loop(c, &s->loop); break;
	case IR_STORE: check_store(c, s->store.buf, s->store.at, s->store.value); break;
	case IR_UPDATE: check_store(c, s->update.buf, s->update.at, s->update.value); break;
	case IR_LOAD_VECTOR:
	case IR_STORE_VECTOR: check_vector(c, &s->vector, s->kind == IR_STORE_VECTOR); break;
	case IR_SYNC: check_reached(c, s->sync.threads ? s->sync.threads : ALL_THREADS); break;
	case IR_TILE_NEXT:
	case IR_TILES_BEFORE: check_reached(c, ALL_THREADS); break;
	case IR_LANES_COMBINE:
		check_reached(c, s->lanes.lanes > 32 || s->lanes.columns ? ALL_THREADS : s->lanes.lanes);
		check_changed(c, s->lanes.var);
		if (s->lanes.index)
			check_changed(c, s->lanes.index);
		break;
	case IR_LANES_SCAN: check_scan(c, s->scan.part, s->scan.sum, s->scan.lanes); break;
	case IR_ITEMS_SCAN: check_scan(c, s->items.parts, s->items.sum, s->items.lanes); break;
	case IR_INVOKE: check_call(c, s->call); break;
	case IR_SHARED: check_object(c, s->shared.var, true); break;
	case IR_LOCAL: check_object(c, s->local.var, true); break;
	case IR_PLACE: check_place(c, &s->place); break;
	case IR_COMMENT:
	case IR_ARRAY:
	case IR_LAMBDA:
	case IR_SORT_SERIAL: break;
	}
	if (ir_stmt_buffer(s))
		check_buffer(c, s, ir_stmt_buffer(s));
}

static void check_block(struct checker *c, const struct ir_block *b);

/* Checks a lambda's result, in the scope of its body. */
static void check_result(struct checker *c, const struct ir_lambda *s)
{
	int outside = c->scope.n;
	for (int i = 0; i < s->body->n && !c->rc; i++)
		if (ir_stmt_declares(&s->body->at[i]))
			vec_push(c->scratch, &c->scope, ((struct known){ ir_stmt_declares(&s->body->at[i]), true }));
	ir_walk(s->value, check_node, c);
	c->scope.n = outside;
}

/* Checks a statement's body, in which its loop variable, parameters or places are in scope. */
static void check_inside(struct checker *c, const struct ir_stmt *s)
{
	int outside = c->scope.n, loops = c->loops;
	c->loops += s->kind == IR_FOR || s->kind == IR_SORT_SERIAL;
	if (s->kind == IR_FOR)
		declare(c, s->loop.var, false);
	if (s->kind == IR_SORT_SERIAL) {
		declare(c, s->sort.rank, false);
		declare(c, s->sort.place, false);
		ir_walk(s->sort.value, check_node, c);
	}
	if (s->kind == IR_LAMBDA) {
		vec_each (v, &s->lambda.parameters)
			declare(c, *v, (*v)->rank > 0);
		c->loops = 0;
		if (s->lambda.value)
			check_result(c, &s->lambda);
	}
	check_block(c, ir_stmt_body(s));
	c->loops = loops;
	c->scope.n = outside;
}

static void check_stmt(struct checker *c, const struct ir_stmt *s)
{
	bool inside = s->kind == IR_FOR || s->kind == IR_SORT_SERIAL;
	if (s->kind != IR_LAMBDA && s->kind != IR_SORT_SERIAL)
		ir_stmt_walk(s, check_node, c);
	check_own(c, s);
	if (!inside && ir_stmt_declares(s))
		declare(c, ir_stmt_declares(s), s->kind != IR_DECLARE || s->declare.mutable);
}

static void check_block(struct checker *c, const struct ir_block *b)
{
	int outside = c->scope.n, flow = c->flow;
	bool returns = false;
	for (int i = 0; i < b->n && !c->rc; i++) {
		const struct ir_stmt *s = &b->at[i];
		int around = c->flow;
		check_stmt(c, s);
		c->flow = least(around, branch_uniformity(c, s));
		if (ir_stmt_body(s))
			check_inside(c, s);
		if (s->kind == IR_RETURN_IF)
			returns = true;
		else if (s->kind != IR_BREAK_IF)
			c->flow = around;
	}
	if (!returns)
		c->flow = flow;
	c->scope.n = outside;
}

static void check_body(struct checker *c, const struct ir_block *b, bool serial)
{
	c->uniform = map_new(c->scratch);
	c->serial = serial;
	c->scope.n = 0;
	do { /* a loop uses variables that are set later in its body */
		c->more = false;
		c->flow = ALL_THREADS;
		mark_block(c, b);
	} while (c->more);
	c->flow = ALL_THREADS;
	vec_each (x, &c->kernel->parameters)
		declare(c, x->var, false);
	check_block(c, b);
}

/* A launch passes its parts' numbers on, in their order. */
static void check_parameters(struct checker *c)
{
	int n = 0;
	vec_each (part, &c->kernel->parts)
		n += (*part)->parameters.n;
	if (c->kernel->parts.n && n != c->kernel->parameters.n)
		complain(c, "has other numbers than its parts", "");
}

/* Every block runs the repeated parts as block 0, into memory of its own. */
static void check_repeated(struct checker *c)
{
	const struct ir_kernel *k = c->kernel;
	int64_t n;
	if (k->repeated && k->repeated >= k->parts.n)
		complain(c, "repeats all of its parts", "");
	for (int i = 0; i < k->repeated && !c->rc; i++) {
		const struct ir_kernel *part = k->parts.at[i];
		if (!ir_is_int(part->blocks, 1) || part->threads > k->threads)
			complain(c, "repeats a part of several blocks, or of too many threads:", part->name);
		vec_each (b, &part->written)
			if (!ir_kernel_own(k, *b) || !ir_const_int((*b)->dim[0], &n) || n > k->threads)
				complain(c, "repeats a part whose result has no place:", (*b)->name);
	}
}

int ir_kernel_check(const struct ir_kernel *k, struct err *e)
{
	struct arena *scratch = arena_new();
	struct checker c = { .kernel = k, .err = e, .scratch = scratch };
	if (k->guard && (k->guard->type != TYPE_BOOL || k->guard->varies))
		complain(&c, "its guard does not follow from extents", "");
	if (k->blocks->type != TYPE_INDEX || k->blocks->varies)
		complain(&c, "its number of blocks does not follow from extents", "");
	check_body(&c, &k->body, false);
	check_body(&c, &k->serial, true);
	check_parameters(&c);
	check_repeated(&c);
	vec_each (part, &k->parts)
		if (!c.rc)
			c.rc = ir_kernel_check(*part, e);
	arena_free(scratch);
	return c.rc;
}
