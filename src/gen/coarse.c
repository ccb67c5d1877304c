/* Whether a kernel's f32 arithmetic may be accurate to a little more than its results are: see gen_coarse in text.h. */
#include "gen/text.h"

struct look {
	bool fine;
	int stores;
};

static bool is_16_bits(enum type t)
{
	return t == TYPE_F16 || t == TYPE_BF16;
}

static bool constant_power(expr e)
{
	enum { HIGHEST = 4 };
	return e->arg[1]->op == IR_CONST_FLOAT && e->arg[1]->f >= -HIGHEST && e->arg[1]->f <= HIGHEST;
}

/* What jumps, or makes much of a little: behind it a last bit may be everything. */
static void find_jump(void *user, expr e)
{
	struct look *l = user;
	bool of_float = e->n && type_is_float(e->arg[e->n - 1]->type);
	switch (e->op) {
	case IR_EQ:
	case IR_LT:
	case IR_LE:
	case IR_FLOOR:
	case IR_CEIL:
	case IR_TRUNC:
	case IR_ROUND_EVEN:
	case IR_REM:
	case IR_MOD:
	case IR_FLOORDIV:
	case IR_TAN:
	case IR_BITCAST: l->fine &= !of_float; break;
	case IR_CAST:
	case IR_CAST_SAT: l->fine &= !of_float || e->type == TYPE_F32 || is_16_bits(e->type); break;
	case IR_POW: l->fine &= !type_is_float(e->type) || constant_power(e); break;
	default: break;
	}
}

static void look_at(struct look *l, const struct ir_block *b)
{
	for (int i = 0; i < b->n && l->fine; i++) {
		const struct ir_stmt *s = &b->at[i];
		switch (s->kind) {
		case IR_STORE:
		case IR_STORE_VECTOR:
			l->fine &= is_16_bits(s->buf->type);
			l->stores++;
			break;
		case IR_UPDATE:
		case IR_LAMBDA:
		case IR_INVOKE:
		case IR_SORT_SERIAL:
		case IR_TILES_BEFORE: l->fine = false; break;
		default: break;
		}
		ir_stmt_walk(s, find_jump, l);
		if (s->body)
			look_at(l, s->body);
	}
}

bool gen_coarse(const struct ir_kernel *k)
{
	struct look l = { .fine = true };
	look_at(&l, &k->body);
	return l.fine && l.stores;
}
