/* The kernel checker: each fault that it detects is planted once in a correct kernel. And the identity of variables. */
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"
#include "tests/program/program_text.h"
#include "test.h"

/* A kernel of 64 threads per block, and the parts of its statements. */
struct made {
	struct arena *arena;
	struct ir_program *p;
	struct ir_kernel k;
	struct ir_block *b;
	const struct ir_buffer *x, *y;
	expr thread, zero, one;
};

static struct made begin(void)
{
	static const char text[] = "program P(x: f32[N]) -> (y: f32[N])\n  y: f32[N] = map (i) x[i]\n";
	struct made m = { .arena = arena_new() };
	struct err e = { 0 };
	CHECK_INT(ir_parse_program(&m.p, text, m.arena, &e), 0);
	m.x = flat_view(m.p, m.p->inputs.at[0]);
	m.y = flat_view(m.p, m.p->outputs.at[0]);
	m.zero = ir_index(m.p->pool, 0);
	m.one = ir_index(m.p->pool, 1);
	m.thread = ir_thread(m.p->pool, ir_index(m.p->pool, 64));
	m.k = (struct ir_kernel){ .name = "kernel", .threads = 64, .blocks = ir_symbol(m.p->pool, "N") };
	vec_push(m.arena, &m.k.buffers, m.x);
	vec_push(m.arena, &m.k.buffers, m.y);
	vec_push(m.arena, &m.k.written, m.y);
	return m;
}

/* Returns the checker's message; "" for a correct kernel. */
static void end(struct made *m, const char *fault)
{
	struct err e = { 0 };
	bool found = ir_kernel_check(&m->k, &e) < 0;
	if (*fault)
		CHECK(found && strstr(e.text, fault));
	else
		CHECK(!found);
	if (found != (*fault != '\0') || !strstr(e.text, fault))
		printf("  got \"%s\", want \"%s\"\n", e.text, fault);
	arena_free(m->arena);
}

static expr number(struct made *m, double x)
{
	return ir_float(m->p->pool, TYPE_F32, x);
}

static void scopes(void)
{
	for (int fault = 0; fault < 5; fault++) {
		static const char *const says[] = { "", "not in scope: v", "declares a variable twice: v",
			                            "changes a constant: v", "by its hint alone: v" };
		struct made m = begin();
		struct ir_variable *v = ir_variable_new(m.p->pool, TYPE_F32, "v");
		struct ir_block *in = emit_if(m.p, &m.k.body, ir_binary(IR_LT, m.thread, m.one));
		if (fault == 4)
			v = ir_variable_called(m.p->pool, TYPE_F32, "v");
		if (fault == 3)
			emit_define(m.p, &m.k.body, v, number(&m, 1), NULL);
		else
			emit_define_variable(m.p, fault == 1 ? in : &m.k.body, v, number(&m, 1));
		if (fault == 2)
			emit_define(m.p, &m.k.body, v, number(&m, 2), NULL);
		emit_assign(m.p, &m.k.body, ir_var_of(v, NULL), number(&m, 3));
		emit_store(m.p, &m.k.body, m.y, m.zero, ir_var_of(v, NULL));
		end(&m, fault == 1 ? "not in scope: v" : says[fault]);
	}
}

static void types(void)
{
	for (int fault = 0; fault < 6; fault++) {
		static const char *const says[] = { "",
			                            "of another rank: v",
			                            "a type other than required: y",
			                            "a type other than required",
			                            "out of bounds of the array v",
			                            "out of bounds of the array v" };
		struct made m = begin();
		struct ir_variable *v = ir_variable_new(m.p->pool, TYPE_F32, "v");
		expr item;
		emit_array(m.p, &m.k.body, v, 4);
		struct ir_block *b = emit_unrolled(m.p, &m.k.body, "item", fault == 5 ? 5 : 4, &item);
		emit_set(m.p, b, v, fault == 4 ? ir_index(m.p->pool, 4) : item, number(&m, 0));
		expr value = fault == 1 ? ir_var_of(v, NULL) : item_of(v, m.zero);
		if (fault == 3)
			emit_if(m.p, &m.k.body, m.thread);
		emit_store(m.p, &m.k.body, m.y, m.zero, fault == 2 ? ir_cast(value, TYPE_F64) : value);
		end(&m, says[fault]);
	}
}

static void buffers(void)
{
	for (int fault = 0; fault < 5; fault++) {
		static const char *const says[] = { "", "not an argument: x", "read-only buffer: y", "its guard",
			                            "its number of blocks" };
		struct made m = begin();
		if (fault == 1) {
			m.k.buffers.n = 0;
			vec_push(m.arena, &m.k.buffers, m.y);
		}
		if (fault == 2)
			m.k.written.n = 0;
		if (fault == 3)
			m.k.guard = ir_binary(IR_LT, m.thread, m.one);
		if (fault == 4)
			m.k.blocks = m.thread;
		emit_store(m.p, &m.k.body, m.y, m.thread, ir_load(m.p->pool, m.x, &m.thread));
		end(&m, says[fault]);
	}
}

/* A condition that is uniform in a block, or in a warp, does not diverge there. */
static void barriers(void)
{
	static const char waits[] = "divergent control flow";
	for (int way = 0; way < 9; way++) {
		static const bool wrong[] = { false, true, true, true, true, false, true, false, true };
		struct made m = begin();
		struct ir_program *p = m.p;
		struct ir_block *b = &m.k.body;
		expr warp = ir_binary(IR_FLOORDIV, m.thread, ir_index(p->pool, 32)), own, sum;
		expr block = ir_block(p->pool, m.k.blocks), half = ir_index(p->pool, 31);
		switch (way) {
		case 0: emit(p, emit_if(p, b, ir_binary(IR_LT, block, half)), IR_SYNC); break;
		case 1: emit(p, emit_if(p, b, ir_binary(IR_LT, m.thread, half)), IR_SYNC); break;
		case 2: /* by a variable derived from it */
			own = emit_constant(p, b, "own", ir_binary(IR_ADD, m.thread, m.one), NULL);
			emit_return_if(p, b, ir_binary(IR_LT, own, half));
			emit(p, b, IR_SYNC);
			break;
		case 3: /* some run more iterations */
			emit(p, emit_loop(p, b, "i", m.thread, half, m.one, NULL, &own), IR_SYNC);
			break;
		case 4: /* by data */
			own = ir_load(p->pool, m.x, &m.thread);
			emit(p, emit_if(p, b, ir_binary(IR_LT, own, number(&m, 0))), IR_SYNC);
			break;
		case 5: /* a warp's threads stay together */
		case 6: /* but not the block's */
			emit_return_if(p, b, ir_binary(IR_LT, warp, m.one));
			sum = emit_variable(p, b, "sum", number(&m, 1));
			emit_lanes_combine(p, b, sum->var, IR_SUM, way == 5 ? 32 : 64);
			break;
		case 7: /* threads that leave a loop reconverge after it */
		case 8:
			b = emit_loop(p, &m.k.body, "i", m.zero, half, m.one, NULL, &own);
			emit(p, b, IR_BREAK_IF)->leave = ir_binary(IR_LT, m.thread, m.one);
			emit(p, way == 7 ? &m.k.body : b, IR_SYNC);
			break;
		}
		end(&m, wrong[way] ? waits : "");
	}
}

/* A warp's sums go through shared memory: each argument once with a wrong kind, type, rank or number. */
static void calls(void)
{
	static const char *const says[] = { "",
		                            "too few arguments: sums_put",
		                            "too many arguments: sums_put",
		                            "another kind or type: sums_put",
		                            "another kind or type: sums_put",
		                            "another kind or type: sums_put",
		                            "out of bounds of the array sum",
		                            "what it does not take: sums_get",
		                            "another kind or type: sums_get",
		                            "method of another type: fill",
		                            "not in scope: ring",
		                            "another template: sum",
		                            "does not request: ring" };
	for (int fault = 0; fault < 13; fault++) {
		struct made m = begin();
		struct ir_program *p = m.p;
		struct ir_block *b = &m.k.body;
		const struct ir_variable *memory = ir_shared_memory(p->pool);
		m.k.shared_bytes = fault == 12 ? 0 : 1024;
		struct ir_template of = fault == 11 ? IR_OF(IR_NUMBER(4)) : IR_OF(IR_TYPE(TYPE_F32));
		const struct ir_device_type *type = fault == 5 ? &device_mma_a : &device_mma_sum;
		struct ir_variable *sum = array_of_rows(ir_object_new(p->pool, type, of, "sum"), 2, 4);
		struct ir_variable *ring = ir_object_new(p->pool, &device_tile_ring, IR_OF(IR_NUMBER(4)), "ring");
		struct ir_variable *v = array_of(ir_variable_new(p->pool, TYPE_F32, "v"), 4);
		emit_zeros(p, b, sum);
		emit_local(p, b, v);
		if (fault != 10)
			emit_placed(p, b, ring, NULL);
		struct ir_call *call = emit_invoke(p, b, &device_sums_put, IR_OF_NOTHING);
		if (fault == 3)
			add_value(p, call, m.one);
		else
			add_variable(p, call, memory);
		if (fault == 4)
			add_variable(p, call, sum);
		else if (fault != 1)
			add_item(p, call, sum, fault == 6 ? ir_index(p->pool, 2) : m.one);
		if (fault == 2)
			add_value(p, call, m.one);
		call = emit_invoke(p, b, &device_sums_get, IR_OF(IR_NUMBER(8)));
		if (fault == 7)
			call->of = IR_OF_NOTHING;
		add_variable(p, call, v);
		add_variable(p, call, memory);
		add_value(p, call, m.zero);
		add_value(p, call, fault == 8 ? number(&m, 1) : m.thread);
		call = emit_method(p, b, fault == 9 ? sum : ring, &device_tile_ring_fill);
		add_value(p, call, m.zero);
		add_value(p, call, m.one);
		end(&m, says[fault]);
	}
}

static void identities(void)
{
	struct made m = begin();
	struct ir_pool *pool = m.p->pool;
	CHECK(ir_variable_new(pool, TYPE_F32, "v") != ir_variable_new(pool, TYPE_F32, "v"));
	const struct ir_variable *before = ir_variable_of(pool, TYPE_F32, NULL, IR_HOLDS_VECTOR, 0, "x_v");
	CHECK(ir_variable_of(pool, TYPE_F32, NULL, IR_HOLDS_VECTOR, 0, "y_v") == before);
	CHECK(ir_variable_of(pool, TYPE_F32, NULL, IR_HOLDS_VECTOR, 1, "x_v") != before);
	CHECK(ir_variable_of(pool, TYPE_F32, NULL, IR_HOLDS_REST, 0, "x_v") != before);
	ir_variables_begin(pool);
	CHECK(ir_variable_of(pool, TYPE_F32, NULL, IR_HOLDS_VECTOR, 0, "x_v") != before);
	struct ir_variable *array = ir_variable_new(pool, TYPE_F32, "a");
	CHECK(item_of(array, m.zero) == item_of(array, m.zero) && item_of(array, m.zero) != item_of(array, m.one));
	end(&m, "");
}

/* Loops of one turn become their statements. What two of them declare under one name is declared once if it is the same
 * constant, else for each; a branch that never runs is gone, and one condition has one branch. */
static void tidied(void)
{
	struct made m = begin();
	struct ir_block *b = &m.k.body;
	struct ir_variable *at = ir_variable_new(m.p->pool, TYPE_INDEX, "at");
	expr condition = ir_binary(IR_LT, m.thread, m.one), step;
	for (int i = 0; i < 3; i++) {
		struct ir_block *in = emit_unrolled(m.p, b, "step", 1, &step);
		expr place = ir_binary(IR_ADD, m.thread, ir_binary(IR_ADD, step, ir_index(m.p->pool, i / 2 + 1)));
		emit_define(m.p, in, at, place, NULL);
		emit_store(m.p, in, m.y, ir_var_of(at, NULL), number(&m, i));
	}
	emit_store(m.p, emit_if(m.p, b, ir_int(m.p->pool, TYPE_BOOL, 0)), m.y, m.zero, number(&m, 8));
	for (int i = 0; i < 2; i++)
		emit_store(m.p, emit_if(m.p, b, condition), m.y, m.zero, number(&m, i));
	emit_unrolled(m.p, b, "step", 2, &step);
	ir_kernel_tidy(m.p, &m.k);
	static const enum ir_stmt_kind want[] = { IR_DECLARE, IR_STORE, IR_STORE, IR_DECLARE, IR_STORE, IR_IF, IR_FOR };
	CHECK_INT(b->n, 7);
	for (int i = 0; i < 7 && i < b->n; i++)
		CHECK_INT(b->at[i].kind, want[i]);
	CHECK(b->at[1].store.at == b->at[2].store.at && b->at[4].store.at != b->at[1].store.at);
	CHECK_INT(b->at[5].branch.body->n, 2);
	end(&m, "");
}

/* A position is removed where nothing uses it, also if another loop declares and uses the same variable. */
static void unused(void)
{
	struct made m = begin();
	struct ir_variable *at = ir_variable_new(m.p->pool, TYPE_INDEX, "at");
	expr step;
	for (int i = 0; i < 3; i++) {
		struct ir_block *in = emit_unrolled(m.p, &m.k.body, "step", 2, &step);
		emit_define(m.p, in, at, ir_binary(IR_ADD, m.thread, step), NULL);
		emit_store(m.p, in, m.y, i == 1 ? ir_var_of(at, NULL) : step, number(&m, i));
	}
	ir_kernel_tidy(m.p, &m.k);
	for (int i = 0; i < 3; i++)
		CHECK_INT(ir_stmt_body(&m.k.body.at[i])->n, i == 1 ? 2 : 1);
	end(&m, "");
}

/* A serial twin without work remains one: without statements, a CPU would run `body`, thread by thread. */
static void tidied_to_nothing(void)
{
	struct made m = begin();
	expr step;
	emit_store(m.p, emit_unrolled(m.p, &m.k.serial, "step", 0, &step), m.y, m.zero, number(&m, 8));
	ir_kernel_tidy(m.p, &m.k);
	CHECK_INT(m.k.serial.n, 1);
	CHECK(m.k.serial.n && m.k.serial.at[0].kind == IR_COMMENT);
	CHECK_INT(m.k.body.n, 0);
	end(&m, "");
}

int main(void)
{
	scopes();
	types();
	buffers();
	barriers();
	calls();
	identities();
	tidied();
	unused();
	tidied_to_nothing();
	return test_done();
}
