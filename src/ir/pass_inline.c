/* Inlining: a map moves into the stages that read it; a map over exactly the result of a reduction or scan becomes its
 * post expression. This is all of fusion: the remaining stages must be stored. */
#include "ir/passes.h"

enum {
	CHEAP = 6,     /* recompute maps up to this cost in every reader */
	MODERATE = 40, /* up to this cost, recompute a few times, once per element and reader */
	FEW_SITES = 3,
	MAX_BODY = 2000, /* cost limit of a stage */
	MANY = 1 << 23,  /* products of one stage, from which on they are worth a kernel that computes a factor */
	SCORE_MAPS = 6,  /* between scores and their softmax: scale, mask, bias, casts */
};

/* A sequence of stages: the program's, or a loop body's. */
struct list {
	VEC(struct ir_stage *);
};

static void remove_stage(struct list *list, int i)
{
	for (list->n--; i < list->n; i++)
		list->at[i] = list->at[i + 1];
}

/* Readers of a buffer. */
struct readers {
	const struct ir_buffer *buf;
	int stages, sites; /* reading stages; distinct loads in them, summed over stages */
	bool wider;        /* a reader's space has more points than the buffer has elements */
	bool piece;        /* wider, but such readers select it by position: a concatenation's or padding's input */
	bool multiplied;   /* a sum of products may read each element IR_OFTEN */
	bool matrix;       /* a product of matrices with IR_OFTEN rows and columns, or perhaps so many, reads it */
	bool mixed;        /* a large one, whose other factor is of a type that no rule multiplies with it */
	bool compared;     /* a pick reads each element for many others */
	bool copied;       /* a loop copies it directly: a state's next value, or collected */
	int in_stage;
};

static void count_site(void *user, expr e)
{
	struct readers *r = user;
	if (e->op == IR_LOAD && e->buf == r->buf)
		r->in_stage++;
}

static void count_expr(void *user, expr e, const char *role)
{
	const struct readers *r = user;
	(void)role;
	if (ir_reads(e, r->buf))
		ir_walk(e, count_site, user);
}

/* True if all reads of the buffer are conditional in the map. */
static bool reads_conditionally(const struct ir_stage *s, const struct ir_buffer *b)
{
	struct readers sure = { .buf = b };
	if (s->kind != IR_MAP)
		return false;
	ir_walk_unconditional(s->value, count_site, &sure);
	return !sure.in_stage;
}

static expr space_count(struct ir_program *p, const struct ir_stage *s)
{
	bool own = s->kind != IR_SCATTER && s->kind != IR_COMPACT;
	expr n = own ? ir_buffer_count(p, s->out) : ir_index(p->pool, 1);
	if (s->kind != IR_MAP)
		for (int k = 0; k < s->space_rank; k++)
			n = ir_binary(IR_MUL, n, s->space[k]);
	return n;
}

static bool reads_few_times(struct ir_program *p, const struct ir_stage *s, expr own)
{
	expr few = ir_binary(IR_MUL, own, ir_index(p->pool, IR_OFTEN - 1));
	return ir_nonnegative(ir_binary(IR_SUB, few, space_count(p, s)));
}

/* `loop`: whose body the list is, or null. */
static struct readers readers_of(struct ir_program *p, const struct list *list, const struct ir_loop *loop,
                                 const struct ir_buffer *b)
{
	struct readers r = { .buf = b };
	expr own = ir_buffer_count(p, b);
	vec_each (ps, list) {
		struct ir_stage *s = *ps;
		r.in_stage = 0;
		ir_stage_exprs(s, count_expr, &r);
		r.copied |= s->loop && ir_loop_copies(s->loop, b);
		if (!r.in_stage)
			continue;
		r.stages++;
		r.sites += r.in_stage;
		r.wider |= s->kind == IR_LOOP; /* it reads in every iteration */
		r.compared |= s->kind == IR_PICK && ir_reads(s->value, b);
		if (ir_multiplies_matrices(s) && ir_reads(s->value, b)) {
			r.matrix = true;
			r.mixed |=
			        !ir_factors_match(list->at, list->n, s, b) && !ir_at_most(space_count(p, s), MANY - 1);
		}
		r.multiplied |= ir_sums_products(s) && !reads_few_times(p, s, own);
		/* own >= readers' space, provably */
		if (s->kind == IR_LOOP || ir_nonnegative(ir_binary(IR_SUB, own, space_count(p, s))))
			continue;
		bool chosen = reads_conditionally(s, b);
		r.piece |= chosen;
		r.wider |= !chosen;
	}
	if (!loop)
		return r;
	r.copied |= ir_loop_copies(loop, b);
	r.in_stage = 0;
	vec_each (c, &loop->collects)
		ir_walk(c->at, count_site, &r);
	r.copied |= r.in_stage > 0; /* a map cannot move into a position */
	return r;
}

/* ---- Substituting a map for its loads. */

struct inline_map {
	const struct ir_stage *map;
};

static expr substitute_load(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	struct inline_map *x = user;
	return e->op == IR_LOAD && e->buf == x->map->out ? ir_bind_axes(p, x->map->value, arg) : NULL;
}

struct slot_job {
	struct ir_program *p;
	struct inline_map map;
	struct arena *scratch;
	struct {
		VEC(expr);
	} made; /* new values of the slots, in order */
	int next;
	bool large;
};

static bool too_large(expr e)
{
	return e->depth > IR_MAX_DEPTH || e->size > IR_MAX_SIZE;
}

static void substitute_slot(void *user, expr *slot, const char *role)
{
	struct slot_job *j = user;
	(void)role;
	if (j->large)
		return;
	bool reads = ir_reads(*slot, j->map.map->out);
	expr x = reads ? ir_copy(j->p->pool, *slot, substitute_load, &j->map) : *slot;
	j->large |= too_large(x);
	vec_push(j->scratch, &j->made, x);
}

static void store_slot(void *user, expr *slot, const char *role)
{
	struct slot_job *j = user;
	(void)role;
	*slot = j->made.at[j->next++];
}

/* Moves the map into all stages from index i on that read its result, unless one would become too large. */
static bool substitute_map(struct ir_program *p, struct list *list, int i, const struct ir_stage *map)
{
	struct slot_job job = { .p = p, .map = { map }, .scratch = arena_new() };
	for (int k = i; k < list->n; k++)
		ir_stage_slots(list->at[k], substitute_slot, &job);
	for (int k = i; k < list->n && !job.large; k++)
		ir_stage_slots(list->at[k], store_slot, &job);
	arena_free(job.scratch);
	return !job.large;
}

/* The same with the map at index i, which is no stage of its own any more. */
static bool substitute(struct ir_program *p, struct list *list, int i)
{
	if (!substitute_map(p, list, i + 1, list->at[i]))
		return false;
	remove_stage(list, i);
	return true;
}

static void find_concatenation(void *user, expr e)
{
	if (e->op != IR_SELECT || ir_uses(e->arg[0], IR_LOAD))
		return;
	const struct ir_buffer *x = ir_first_buffer(e->arg[1]), *y = ir_first_buffer(e->arg[2]);
	*(bool *)user |= x && y && x != y;
}

/* True if s has a choice by position between elements of two buffers, such as keys and past keys. The rules for matrix
 * products, attention and convolutions take operands of one buffer only: this one is stored if products read it often,
 * and so are quantised 8-bit floats (is_quantised()). */
static bool is_concatenation(const struct ir_stage *s)
{
	bool found = false;
	if (s->kind == IR_MAP)
		ir_walk(s->value, find_concatenation, &found);
	return found;
}

static void find_gather(void *user, expr e)
{
	for (int k = 0; e->op == IR_LOAD && k < e->n; k++)
		*(bool *)user |= ir_uses(e->arg[k], IR_LOAD);
}

/* True if s computes 8-bit floats; a transposition only moves them. */
static bool is_quantised(const struct ir_stage *s)
{
	return type_multiplies_f8(s->out->type) && s->value->op != IR_LOAD;
}

/* True if s reads at positions from memory. Pairs of its elements would wait for two loads, one after the other. */
static bool is_gather(const struct ir_stage *s)
{
	bool found = false;
	if (s->kind == IR_MAP)
		ir_walk(s->value, find_gather, &found);
	return found;
}

/* True if e is an operand times or divided by one number, as are the queries and keys that the rules for attention
 * take. */
static bool is_scaled_operand(expr e)
{
	while (e->op == IR_CAST)
		e = e->arg[0];
	for (int i = 0; i < 2 && (e->op == IR_MUL || (e->op == IR_DIV && i == 0)); i++)
		if (!ir_uses(e->arg[1 - i], IR_AXIS) && ir_is_operand(e->arg[i]))
			return true;
	return false;
}

/* True if the largest of b's elements are taken, or of what maps make of them. */
static bool largest_is_taken(const struct list *list, const struct ir_buffer *b, int maps)
{
	vec_each (ps, list) {
		const struct ir_stage *s = *ps;
		struct readers in = { .buf = b };
		ir_stage_exprs(s, count_expr, &in);
		if (!in.in_stage)
			continue;
		if (s->kind == IR_REDUCE && s->combine == IR_MAXIMUM)
			return true;
		if (s->kind == IR_MAP && maps > 0 && largest_is_taken(list, s->out, maps - 1))
			return true;
	}
	return false;
}

/* True if all products of matrices that read b are scores, of which a softmax takes the largest. */
static bool only_scores_read(const struct list *list, const struct ir_buffer *b)
{
	vec_each (s, list)
		if (ir_multiplies_matrices(*s) && ir_reads((*s)->value, b) &&
		    !largest_is_taken(list, (*s)->out, SCORE_MAPS))
			return false;
	return true;
}

/* True if a map only moves elements of b, to places that a product of matrices reads. It moves into the product, and
 * what computes b is stored in b's order, which the rules for attention need of keys that are rotated or normalised. */
static bool moves_to_product(const struct list *list, const struct ir_buffer *b)
{
	vec_each (ps, list) {
		const struct ir_stage *s = *ps;
		if (s->kind != IR_MAP || s->out->role != IR_TEMP || s->value->op != IR_LOAD || s->value->buf != b)
			continue;
		vec_each (reader, list)
			if (ir_multiplies_matrices(*reader) && ir_reads((*reader)->value, s->out))
				return true;
		if (moves_to_product(list, s->out))
			return true;
	}
	return false;
}

/* `found`: loads of the map's result would divide axes that the reader sums over, once the map is in it. */
struct divided {
	const struct ir_stage *map, *reader;
	bool found;
};

static void find_division(void *user, expr e)
{
	struct divided *d = user;
	bool used[2 * IR_MAX_RANK] = { false };
	if (e->op != IR_FLOORDIV && e->op != IR_MOD)
		return;
	ir_mark_axes(e, used);
	for (int k = 0; k < d->reader->space_rank; k++)
		d->found |= used[d->reader->out->rank + k];
}

static void find_divided(void *user, expr e)
{
	struct divided *d = user;
	if (e->op != IR_LOAD || e->buf != d->map->out)
		return;
	expr moved = ir_bind_axes(e->pool, d->map->value, e->arg);
	if (moved->op == IR_LOAD)
		ir_walk(ir_flat(e->pool, moved->buf, moved->arg), find_division, d);
}

/* True if s moves the results of a product to where another product sums over them in parts, as the heads of an
 * attention. The first stores them there; the second would read them one by one. */
static bool joins_parts(const struct list *list, const struct ir_stage *s)
{
	struct divided d = { .map = s };
	bool made = false;
	if (s->value->op != IR_LOAD)
		return false;
	vec_each (maker, list)
		made |= (*maker)->out == s->value->buf && ir_sums_products(*maker);
	vec_each (reader, list) {
		d.reader = *reader;
		if (made && ir_multiplies_matrices(*reader))
			ir_walk((*reader)->value, find_divided, &d);
	}
	return d.found;
}

/* True if s is a factor of a product as it is, or but for one number: not floats that are made of 8 bits, which only
 * some of the rules take. */
static bool is_factor(const struct ir_stage *s)
{
	return ir_cost(s->value) <= CHEAP && !(ir_reads_bytes(s->value) && type_is_float(s->out->type)) &&
	       (ir_is_operand(s->value) || is_scaled_operand(s->value));
}

/* True if s only moves elements and puts a constant around them, as before a convolution: rules choose between elements
 * and a constant where they read. */
static bool is_padding(const struct ir_stage *s)
{
	expr e = s->value;
	return e->op == IR_SELECT && !ir_uses(e->arg[0], IR_LOAD) && !e->arg[2]->varies && e->arg[1]->op == IR_LOAD &&
	       ir_cost(e->arg[1]) <= CHEAP;
}

static bool worth_inlining(const struct list *list, const struct ir_stage *s, const struct readers *readers)
{
	struct readers r = *readers;
	if (s->kind != IR_MAP || s->out->role != IR_TEMP || r.copied)
		return false;
	int cost = ir_cost(s->value);
	if (!r.stages || cost > MAX_BODY || (r.multiplied && (is_concatenation(s) || is_quantised(s))))
		return false;
	if (r.mixed || (r.compared && is_gather(s)))
		return false;
	if (r.matrix && !ir_is_operand(s->value) && !(is_scaled_operand(s->value) && only_scores_read(list, s->out)))
		return false;
	if ((r.matrix && joins_parts(list, s)) || (!is_factor(s) && moves_to_product(list, s->out)))
		return false;
	if (cost <= CHEAP || is_padding(s))
		return true;
	if (r.wider || (r.piece && cost > MODERATE))
		return false;
	return (r.sites == 1 || (r.sites <= FEW_SITES && cost <= MODERATE));
}

/* ---- A map over a reduction's or a scan's result becomes its post expression. */

struct post_job {
	const struct ir_buffer *buf;
	bool plain; /* every load of buf is at the space's own index, and all other indices are possible in post */
	expr acc;
};

static void check_plain(void *user, expr e)
{
	struct post_job *j = user;
	if (e->op != IR_LOAD || e->buf != j->buf)
		return;
	for (int k = 0; k < e->n; k++) {
		bool own = (e->arg[k]->op == IR_AXIS && e->arg[k]->i == k) || ir_is_int(j->buf->dim[k], 1);
		j->plain &= own;
	}
}

static expr to_acc(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	struct post_job *j = user;
	(void)p;
	(void)arg;
	return e->op == IR_LOAD && e->buf == j->buf ? j->acc : NULL;
}

/* The first stage after i that reads buffer b; null: none. */
static struct ir_stage *reader_after(const struct list *list, int i, const struct ir_buffer *b)
{
	while (++i < list->n)
		if (ir_stage_reads(list->at[i], b))
			return list->at[i];
	return NULL;
}

/* Map j reads the result of s in other extents. If it does so element for element, makes them the same: the map's, or
 * where the map's result is an output, those of s. */
static bool share_extents(struct ir_program *p, struct list *list, const struct ir_loop *loop, struct ir_stage *s,
                          int j)
{
	struct ir_stage *m = list->at[j];
	if (!ir_reads_in_order(p, m, s->out))
		return false;
	if (m->out->role != IR_TEMP)
		return ir_reshape_sum(p, s, m);
	if (m->value->op == IR_LOAD || ir_size_is(p, m->out) || ir_value_is(p, m->out) ||
	    readers_of(p, list, loop, m->out).copied)
		return false; /* one that only moves elements moves into its readers */
	const struct ir_stage before = *m, moved = ir_reshape_map(p, m, s->out);
	if (!too_large(m->value) && substitute_map(p, list, j + 1, &moved))
		return true;
	*m = before;
	return false;
}

static bool reads_made(const struct ir_stage *s, const struct ir_stage *maker)
{
	const struct ir_buffer *b;
	for (int i = 0; (b = ir_stage_made(maker, i)) != NULL; i++)
		if (ir_stage_reads(s, b))
			return true;
	return false;
}

/* If stage j reads results of those between i and j, and stage i goes over elements with the results of stages right
 * before it, as in a softmax, moves the former before all of these, unless they depend on them: rules compute stages in
 * one kernel that follow each other. Returns the new index of stage i. */
static int keep_together(struct list *list, int i, int j)
{
	int first = i;
	bool needed = false;
	for (int k = i + 1; k < j; k++)
		needed |= reads_made(list->at[j], list->at[k]);
	while (first > 0 && list->at[first]->value && ir_reads(list->at[first]->value, list->at[first - 1]->out))
		first--;
	if (!needed || first == i)
		return i;
	for (int k = i + 1; k < j; k++) {
		struct ir_stage *s = list->at[k];
		bool apart = true;
		for (int n = first; n < k; n++)
			apart &= !reads_made(s, list->at[n]);
		if (!apart)
			continue;
		for (int n = k; n > first; n--)
			list->at[n] = list->at[n - 1];
		list->at[first++] = s;
		i++;
	}
	return i;
}

/* Stage i accumulates; its only reader is map j of its elements. Moves i to j's place, since the map may read buffers
 * defined in between. */
static bool absorb_map(struct ir_program *p, struct list *list, const struct ir_loop *loop, int i,
                       const struct readers *r)
{
	struct ir_stage *s = list->at[i];
	if (!ir_accumulates(s) || s->out->role != IR_TEMP || ir_combine_is_arg(s->combine))
		return false;
	if (r->stages != 1 || r->copied)
		return false;
	for (int j = i + 1; j < list->n; j++) {
		struct ir_stage *m = list->at[j];
		struct post_job job = { .buf = s->out, .plain = true };
		struct readers in = { .buf = s->out };
		ir_stage_exprs(m, count_expr, &in);
		if (!in.in_stage)
			continue;
		if (m->kind != IR_MAP || type_is_packed(m->out->type))
			return false;
		if (!ir_same_extents(m->out, s->out) && !share_extents(p, list, loop, s, j))
			return false;
		job.buf = s->out;
		ir_walk(m->value, check_plain, &job);
		if (!job.plain)
			return false;
		job.acc = s->post ? s->post : ir_cast(ir_acc(p->pool, s->value->type), s->out->type);
		expr post = ir_copy(p->pool, m->value, to_acc, &job);
		if (too_large(post))
			return false;
		s->post = post->op == IR_ACC ? NULL : post;
		s->out = m->out;
		for (int k = keep_together(list, i, j); k < j - 1; k++)
			list->at[k] = list->at[k + 1];
		list->at[j - 1] = s;
		remove_stage(list, j);
		return true;
	}
	return false;
}

/* ---- Loops. */

/* The buffer that a map of the body copies unchanged into `b`, or b itself. */
static const struct ir_buffer *copied_from(const struct ir_loop *l, const struct ir_buffer *b)
{
	vec_each (ps, &l->body) {
		const struct ir_stage *s = *ps;
		if (s->out != b || s->kind != IR_MAP || s->value->op != IR_LOAD)
			continue;
		struct post_job own = { .buf = s->value->buf, .plain = true };
		check_plain(&own, s->value);
		return own.plain && ir_same_extents(own.buf, b) ? own.buf : b;
	}
	return b;
}

/* Replaces loads of a state that never changes by its initial value. */
static void substitute_state(struct ir_program *p, struct ir_stage *s, const struct ir_carry *c)
{
	struct ir_loop *l = s->loop;
	struct ir_stage init = { .kind = IR_MAP, .out = c->state, .value = c->init };
	struct slot_job job = { .p = p, .map = { &init }, .scratch = arena_new() };
	for (int pass = 0; pass < 2 && !job.large; pass++) {
		void (*fn)(void *user, expr *slot, const char *role) = pass ? store_slot : substitute_slot;
		if (s->where)
			fn(&job, &s->where, "where");
		vec_each (x, &l->collects)
			fn(&job, &x->at, "collect");
		vec_each (b, &l->body)
			ir_stage_slots(*b, fn, &job);
	}
	arena_free(job.scratch);
}

/* States take their next values directly from their source; constant states are replaced by their initial values. */
static void inline_states(struct ir_program *p, struct ir_stage *s)
{
	struct ir_loop *l = s->loop;
	vec_each (c, &l->carries)
		c->next = copied_from(l, c->next);
	vec_each (c, &l->collects)
		c->from = copied_from(l, c->from);
	vec_each (c, &l->carries)
		if (c->next == c->state && ir_cost(c->init) <= CHEAP)
			substitute_state(p, s, c);
}

/* A padded factor becomes a choice around the cast of a load, as rules for products take it, whichever came first. */
static void cast_inside(struct ir_stage *s)
{
	for (int i = 0; i < 2 && ir_sums_products(s); i++) {
		expr e[2] = { s->value->arg[0], s->value->arg[1] };
		expr chosen = e[i]->op == IR_CAST ? e[i]->arg[0] : NULL;
		if (!chosen || chosen->op != IR_SELECT || !ir_is_zero(chosen->arg[2]))
			continue;
		e[i] = ir_select(chosen->arg[0], ir_cast(chosen->arg[1], e[i]->type),
		                 ir_cast(chosen->arg[2], e[i]->type));
		s->value = ir_binary(IR_MUL, e[0], e[1]);
	}
}

static void inline_list(struct ir_program *p, struct list *list, const struct ir_loop *loop)
{
	vec_each (s, list)
		if ((*s)->loop)
			inline_states(p, *s);
	/* Concatenations come last, when all maps between them and products are in the products; and so do maps that
	 * are padded or concatenated, which what computes their operand may absorb, or what reads the padding. */
	for (bool again = true, last = false; again || !last;) {
		last |= !again;
		again = false;
		for (int i = 0; i < list->n; i++) {
			struct ir_stage *s = list->at[i];
			if (s->loop || (!last && is_concatenation(s)))
				continue;
			struct readers r = readers_of(p, list, loop, s->out);
			if (absorb_map(p, list, loop, i, &r)) {
				again = true;
				i--; /* it may absorb more, before its readers take what follows */
				continue;
			}
			if (r.stages == 1 && !r.copied && s->out->role == IR_TEMP &&
			    ir_turn_reduction(p, s, reader_after(list, i, s->out))) {
				again = true;
				i--;
				continue;
			}
			if ((r.piece && !last) || !worth_inlining(list, s, &r) || !substitute(p, list, i))
				continue;
			i--;
			again = true;
		}
	}
	vec_each (s, list) {
		cast_inside(*s);
		if (!(*s)->loop)
			continue;
		struct list body = { (*s)->loop->body.at, (*s)->loop->body.n, (*s)->loop->body.cap };
		inline_list(p, &body, (*s)->loop);
		(*s)->loop->body.n = body.n;
		inline_states(p, *s);
	}
}

/* The largest of their elements are taken, for a softmax: results of products, and maps of these. */
static bool are_scores(const struct list *list, const struct ir_stage *s)
{
	bool product = ir_sums_products(s);
	vec_each (ps, list)
		product |= s->kind == IR_MAP && ir_sums_products(*ps) && ir_reads(s->value, (*ps)->out);
	return product && s->out->role == IR_TEMP && largest_is_taken(list, s->out, SCORE_MAPS);
}

/* Moves scores to the stage that first reads them. The rules for attention take neighbouring stages, and a model may
 * compute a bias between scores and softmax, as for relative positions. */
static void delay_scores(struct list *list)
{
	for (int i = list->n - 2; i >= 0; i--) {
		struct ir_stage *s = list->at[i];
		if (!are_scores(list, s))
			continue;
		int to = i;
		while (to + 1 < list->n && !ir_stage_reads(list->at[to + 1], s->out))
			to++;
		for (int k = i; k < to; k++)
			list->at[k] = list->at[k + 1];
		list->at[to] = s;
	}
}

/* Small reductions become maps in their readers. */
static void inline_reductions(struct ir_program *p, struct list *list)
{
	const bool *moves = ir_unroll_reductions(p);
	for (int i = list->n - 1; i >= 0; i--)
		if (moves[i])
			substitute(p, list, i);
}

int ir_pass_inline(struct ir_program *p, struct err *e)
{
	struct list all = { p->stages.at, p->stages.n, p->stages.cap };
	(void)e;
	ir_reductions_of_one(p);
	do {
		inline_list(p, &all, NULL);
		p->stages.n = all.n;
		ir_split_joined(p);
	} while (ir_narrow_results(p));
	ir_reduce_arguments(p);
	inline_reductions(p, &all);
	delay_scores(&all);
	p->stages.n = all.n;
	ir_reduce_in_order(p);
	/* Inlined stages may have become equal. */
	return ir_pass_merge(p, e);
}
