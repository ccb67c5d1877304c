/* The symbols of a region's program: those of its inputs' extents, and elements of inputs that decide extents.
 * Expressions of the graph are translated into them. */
#include "graph/graph_program.h"

static expr extent_find(const struct region_build *b, expr e)
{
	vec_each (x, &b->extents)
		if (x->graph == e)
			return x->program;
	return NULL;
}

expr region_translate(struct region_build *b, expr e)
{
	expr x = extent_find(b, e), arg[3], rest;
	bool known = true;

	if (x)
		return x;
	if (e->op == IR_CONST_INT)
		return ir_int(b->p->pool, e->type, e->i);
	if (e->op == IR_CONST_FLOAT)
		return ir_float(b->p->pool, e->type, e->f);
	if (e->op == IR_SYMBOL) {
		b->missing = e->name;
		return NULL;
	}
	if (e->n < 1 || e->n > 3)
		return NULL;
	for (int i = 0; i < e->n && known; i++) {
		arg[i] = region_translate(b, e->arg[i]);
		known = arg[i] != NULL;
	}
	if (known)
		return ir_rebuild(e, arg);
	if (e->type != TYPE_INDEX)
		return NULL;
	vec_each (k, &b->extents) { /* match a known number */
		rest = ir_binary(IR_SUB, e, k->graph);
		if (rest->op == IR_CONST_INT)
			return ir_binary(IR_ADD, k->program, ir_index(b->p->pool, rest->i));
	}
	return NULL;
}

static void extent_add(struct region_build *b, expr graph, expr program)
{
	struct region_extent x = { graph, program };

	vec_push(b->p->arena, &b->extents, x);
	if (program->op == IR_SYMBOL)
		map_put(&b->symbols, program->name, b->p);
}

/* Defines the symbols of these inputs: first extents that are plain symbols, then those that do not follow from
 * them. */
void region_define_symbols(struct region_build *b)
{
	vec_each (pv, &b->r->inputs)
		for (int i = 0; i < (*pv)->rank; i++)
			if ((*pv)->dim[i]->op == IR_SYMBOL && !extent_find(b, (*pv)->dim[i]))
				extent_add(b, (*pv)->dim[i],
				           ir_symbol(b->p->pool, region_symbol_name(b, (*pv)->dim[i]->name)));
	vec_each (pv, &b->r->inputs) {
		for (int i = 0; i < (*pv)->rank; i++) {
			expr e = (*pv)->dim[i], x = region_translate(b, e);

			if (x)
				continue;
			extent_add(b, e, ir_symbol(b->p->pool, region_fresh_symbol(b)));
		}
	}
	vec_each (pv, &b->r->inputs) {
		const struct graph_value *v = *pv;
		int64_t n = v->content && v->rank < 2 && type_is_int(v->type) ? graph_count(v->rank, v->dim) : 0;

		for (int64_t k = 0; k < n; k++) {
			expr e = v->content[k];

			if (!graph_is_asked(b->g, e) || region_translate(b, e))
				continue;
			const char *name = !b->o->numbered && e->op == IR_SYMBOL ? e->name : "n0";
			if (map_get(&b->symbols, name))
				name = region_fresh_symbol(b);
			struct region_value a = { v, k, ir_symbol(b->p->pool, name) };
			extent_add(b, e, a.symbol);
			vec_push(b->p->arena, &b->asked, a);
		}
	}
	b->missing = NULL;
}

const expr *region_content(struct region_build *b, const struct graph_value *v)
{
	int64_t n = graph_count(v->rank, v->dim);
	expr *content = NEWN(b->p->arena, expr, n + 1);

	for (int64_t k = 0; k < n; k++) {
		content[k] = region_translate(b, v->content[k]);
		if (!content[k]) {
			b->missed = v;
			return NULL;
		}
	}
	return content;
}

/* ---- Elements of inputs that decide extents. */

struct mention {
	const struct ir_program *p;
	expr symbol;
	const struct ir_buffer *buf; /* loaded */
	bool found;
};

static void find_mention(void *user, expr e)
{
	struct mention *m = user;

	m->found |= e == m->symbol;
	m->found |= e->op == IR_LOAD && m->buf == e->buf;
}

static void find_in_expr(void *user, expr e, const char *role)
{
	(void)role;
	ir_walk(e, find_mention, user);
}

static bool is_mentioned(struct mention m)
{
	const struct ir_program *p = m.p;

	vec_each (b, &p->buffers)
		for (int k = 0; k < (*b)->rank; k++)
			ir_walk((*b)->dim[k], find_mention, &m);
	vec_each (s, &p->stages) {
		for (int k = 0; k < (*s)->space_rank; k++)
			ir_walk((*s)->space[k], find_mention, &m);
		ir_stage_exprs(*s, find_in_expr, &m);
	}
	vec_each (v, &p->values)
		if (v->known)
			ir_walk(v->known, find_mention, &m);
	vec_each (d, &p->demands)
		for (int k = 0; k < 2; k++)
			ir_walk(d->extent[k], find_mention, &m);
	return m.found;
}

int region_finish_values(struct region_build *b)
{
	struct ir_program *p = b->p;
	int n = 0;

	for (int i = 0; i < p->values.n; i++)
		if (is_mentioned((struct mention){ p, p->values.at[i].symbol, NULL, false }))
			p->values.at[n++] = p->values.at[i];
	p->values.n = n;
	for (int i = 0; i < p->inputs.n; i++) {
		const struct ir_buffer *in = p->inputs.at[i];

		if (!ir_value_is(p, in) || !is_mentioned((struct mention){ p, NULL, in, false }))
			continue;
		err_set(b->scope.err, ERR_UNSUPPORTED,
		        "region %s: its input \"%s\" determines extents and is also read as data, which a plugin input "
		        "cannot be.",
		        b->r->label, b->r->inputs.at[i]->name);
		return err_advise(b->scope.err, "Make it a constant of the model, or split the region.");
	}
	return 0;
}
