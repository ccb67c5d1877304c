/* Lowering: messages of a node's checks, broadcasting of known and unknown extents, shape arithmetic, the operator
 * list, and that an operator and its usual spelling in several nodes give the same program. */
#include <stdlib.h>
#include <string.h>

#include "ops/lower/lower.h"
#include "test.h"

static struct arena *arena;
static struct ir_program *program;
static struct err failure;

static void begin(void)
{
	arena_free(arena);
	arena = arena_new();
	program = ir_program_new(arena, "test");
	memset(&failure, 0, sizeof failure);
}

/* An input; `dims`: numbers and symbols, separated by blanks. */
static struct value input(const char *name, enum type t, const char *dims)
{
	char *copy = arena_strdup(arena, dims), *rest = NULL;
	expr dim[IR_MAX_RANK];
	int rank = 0;

	for (char *d = strtok_r(copy, " ", &rest); d; d = strtok_r(NULL, " ", &rest))
		dim[rank++] = *d >= '0' && *d <= '9' ? ir_index(program->pool, atoi(d)) : ir_symbol(program->pool, d);
	return (struct value){ .buf = ir_buffer_new(program, name, t, rank, dim, IR_INPUT), .given = true };
}

#define INT(what, x) { .name = what, .kind = OP_INT, .i = x }
#define FLOAT(what, x) { .name = what, .kind = OP_FLOAT, .f = x }
#define WORD(what, x) { .name = what, .kind = OP_STRING, .s = x }
#define INTS(what, ...) \
	{ \
		.name = what, .kind = OP_INTS, .n = sizeof((int64_t[]){ __VA_ARGS__ }) / 8, .ints = (int64_t[]) \
		{ \
			__VA_ARGS__ \
		} \
	}

static struct lower node;

static int run(const char *op, int opset, int inputs, const struct value *in, int attrs, const struct attr_value *attr)
{
	memset(&node, 0, sizeof node);
	node = (struct lower){ .program = program,
		               .err = &failure,
		               .op = op_find("", op),
		               .opset = opset,
		               .label = "n",
		               .inputs = inputs,
		               .outputs = 1,
		               .attrs = attrs,
		               .attr = attr };
	lower_room(&node, inputs, 1);
	for (int i = 0; i < inputs; i++)
		node.input[i] = in[i];
	node.wanted[0] = true;
	return lower_node(&node);
}

#define RUN(op, opset, ...) \
	run(op, opset, sizeof((struct value[]){ __VA_ARGS__ }) / sizeof(struct value), \
	    (struct value[]){ __VA_ARGS__ }, 0, NULL)
/* The first output of a node with the inputs `...` and the attributes in the array `a`. */
#define RUN_WITH(op, opset, a, ...) \
	run(op, opset, sizeof((struct value[]){ __VA_ARGS__ }) / sizeof(struct value), \
	    (struct value[]){ __VA_ARGS__ }, sizeof(a) / sizeof((a)[0]), a)

static const char *shape(void)
{
	struct str s = str_new(arena);

	for (int i = 0; i < node.output[0].buf->rank; i++) {
		str_add(&s, i ? ", " : "");
		ir_print_expr(&s, node.output[0].buf->dim[i], 0);
	}
	return str_text(&s);
}

static void test_failures(void)
{
	const struct attr_value unknown[] = { INT("axes_", 1) }, word[] = { WORD("approximate", "sigmoid") };
	const struct attr_value note[] = { INT("_private", 1) }, kind[] = { FLOAT("axis", 1) },
	                        axis[] = { INT("axis", 2) }, large[] = { INT("axis", UINT32_MAX) };

	begin();
	CHECK_INT(RUN("Add", 13, input("a", TYPE_F32, "4")), ERR_MODEL);
	CHECK_STR(failure.text, "node n (Add, opset 13): input \"b\" (number 2) is missing; the operator needs it.");
	begin();
	CHECK_INT(RUN("Not", 13, input("x", TYPE_F32, "4")), ERR_UNSUPPORTED);
	CHECK_STR(failure.text, "node n (Not, opset 13): input \"x\" is f32; it must be bool.");
	begin();
	CHECK_INT(RUN("Cast", 13, input("x", TYPE_STRING, "4")), ERR_UNSUPPORTED);
	CHECK_STR(failure.text,
	          "node n (Cast, opset 13): input \"input\" is string; it must be a float, an integer, an 8-bit float, "
	          "a type narrower than a byte, bool or f8e8m0.");
	begin();
	CHECK_INT(RUN("Cast", 13, input("x", TYPE_F32, "4")), ERR_MODEL);
	CHECK_STR(failure.text, "node n (Cast, opset 13): attribute \"to\" is missing; the operator needs it.");
	begin();
	CHECK_INT(RUN("Relu", 13, input("x", TYPE_F32, "4"), input("y", TYPE_F32, "4")), ERR_MODEL);
	CHECK_STR(failure.text, "node n (Relu, opset 13): it has 2 inputs; the operator takes at most 1.");
	begin();
	CHECK_INT(RUN("Mul", 13, input("a", TYPE_F32, "4"), input("b", TYPE_F16, "4")), ERR_MODEL);
	CHECK_STR(failure.text,
	          "node n (Mul, opset 13): inputs number 1 and 2 are f32 and f16; they must have one type.");
	begin();
	CHECK_INT(RUN("Gelu", 13, input("x", TYPE_F32, "4")), ERR_UNSUPPORTED);
	CHECK_STR(failure.text, "node n (Gelu, opset 13): opset 20 is the oldest of this operator that is supported.");
	begin();
	CHECK_INT(RUN_WITH("Gelu", 20, word, input("x", TYPE_F32, "4")), ERR_MODEL);
	CHECK_STR(failure.text, "node n (Gelu, opset 20): attribute \"approximate\" is \"sigmoid\".");
	CHECK_STR(failure.advice, "It must be one of none|tanh.");
	begin();
	CHECK_INT(RUN_WITH("ReduceSum", 11, unknown, input("x", TYPE_F32, "4")), ERR_MODEL);
	CHECK_STR(failure.text, "node n (ReduceSum, opset 11): attribute \"axes_\" is not known in any version of the "
	                        "operator.");
	CHECK_STR(failure.advice, "Did the exporter mean \"axes\"?");
	begin();
	CHECK_INT(RUN_WITH("Relu", 13, note, input("x", TYPE_F32, "4")), 0);
	begin();
	CHECK_INT(RUN_WITH("Softmax", 13, kind, input("x", TYPE_F32, "4 5")), ERR_MODEL);
	CHECK_STR(failure.text, "node n (Softmax, opset 13): attribute \"axis\" is a float; it must be an integer.");
	begin();
	CHECK_INT(RUN_WITH("Softmax", 13, large, input("x", TYPE_F32, "4 5")), ERR_UNSUPPORTED);
	CHECK_STR(failure.text,
	          "node n (Softmax, opset 13): attribute \"axis\" is 4294967295; it must fit into 32 bits.");
	begin();
	CHECK_INT(RUN_WITH("Softmax", 13, axis, input("x", TYPE_F32, "4 5")), ERR_MODEL);
	CHECK_STR(failure.text, "node n (Softmax, opset 13): axis 2 is outside -2..1, the axes of a tensor of rank 2.");
	begin();
	CHECK_INT(RUN("MatMul", 13, input("a", TYPE_F32, "4 5"), input("b", TYPE_F32, "6 7")), ERR_MODEL);
	CHECK_STR(failure.text,
	          "node n (MatMul, opset 13): extent 1 of a is 5 and extent 0 of b is 6; they must be equal.");
	begin();
	CHECK_INT(RUN("ReduceSum", 13, input("x", TYPE_F32, "4 5"), input("axes", TYPE_I64, "1")), ERR_UNSUPPORTED);
	CHECK_STR(failure.text,
	          "node n (ReduceSum, opset 13): the value of input \"axes\" is not known at build time, and shapes "
	          "depend on it.");
}

static void test_broadcast(void)
{
	begin();
	CHECK_INT(RUN("Add", 13, input("a", TYPE_F32, "2 1 4"), input("b", TYPE_F32, "3 1")), 0);
	CHECK_STR(shape(), "2, 3, 4");
	begin();
	CHECK_INT(RUN("Add", 13, input("a", TYPE_F32, "N 1"), input("b", TYPE_F32, "M")), 0);
	CHECK_STR(shape(), "N, M");
	begin(); /* one of them may be 1 at run time */
	CHECK_INT(RUN("Add", 13, input("a", TYPE_F32, "N 4"), input("b", TYPE_F32, "N K")), 0);
	CHECK_STR(shape(), "N, 4");
	begin();
	CHECK_INT(RUN("Add", 13, input("a", TYPE_F32, "N"), input("b", TYPE_F32, "M")), 0);
	CHECK_STR(shape(), "select(1 == N, M, N)");
	begin();
	CHECK_INT(RUN("Add", 13, input("a", TYPE_F32, "2 3"), input("b", TYPE_F32, "4")), ERR_MODEL);
	CHECK_STR(failure.text, "node n (Add, opset 13): the shape [4] of operand 2 cannot be broadcast with [2,3].");
}

/* Before opset 7: b's axes lie from `axis` on. */
static void test_old_broadcast(void)
{
	const struct attr_value axis[] = { INT("axis", 1), INT("broadcast", 1) },
	                        far[] = { INT("axis", 2), INT("broadcast", 1) };
	expr value;

	begin();
	CHECK_INT(RUN_WITH("Add", 6, axis, input("a", TYPE_F32, "2 3 4"), input("b", TYPE_F32, "3")), 0);
	CHECK_STR(shape(), "2, 3, 4");
	value = program->stages.at[0]->value;
	CHECK(value->op == IR_ADD && value->arg[1]->op == IR_LOAD && value->arg[1]->arg[0]->op == IR_AXIS &&
	      value->arg[1]->arg[0]->i == 1);
	begin();
	CHECK_INT(RUN_WITH("Add", 6, far, input("a", TYPE_F32, "2 3 4"), input("b", TYPE_F32, "4 1")), ERR_MODEL);
	begin();
	CHECK_INT(RUN("PRelu", 6, input("x", TYPE_F32, "2 3 4 5"), input("slope", TYPE_F32, "3")), 0);
	CHECK_STR(shape(), "2, 3, 4, 5");
}

static void test_shapes(void)
{
	const struct attr_value conv[] = { INTS("strides", 2, 2), INTS("pads", 1, 1, 1, 1) };
	const struct attr_value same[] = { INTS("strides", 2, 2), WORD("auto_pad", "SAME_UPPER") };
	const struct attr_value keep[] = { INTS("axes", -1), INT("keepdims", 1) };

	begin();
	CHECK_INT(RUN_WITH("Conv", 11, conv, input("x", TYPE_F32, "N 3 H 15"), input("w", TYPE_F32, "8 3 3 3")), 0);
	CHECK_STR(shape(), "N, 8, floordiv(H - 1, 2) + 1, 8");
	begin();
	CHECK_INT(RUN_WITH("Conv", 11, same, input("x", TYPE_F32, "N 3 14 15"), input("w", TYPE_F32, "8 3 3 3")), 0);
	CHECK_STR(shape(), "N, 8, 7, 8");
	begin();
	CHECK_INT(RUN_WITH("ReduceMean", 11, keep, input("x", TYPE_F32, "N C 7")), 0);
	CHECK_STR(shape(), "N, C, 1");
	begin();
	CHECK_INT(RUN("MatMul", 13, input("a", TYPE_F32, "B 1 M 8"), input("b", TYPE_F32, "5 8 K")), 0);
	CHECK_STR(shape(), "B, 5, M, K");
}

/* Integer buffers computed from extents keep their elements as polynomials. */
static void test_content(void)
{
	struct value x, y;
	expr content[2];
	struct exprs known;

	begin();
	x = input("x", TYPE_I64, "2");
	y = input("y", TYPE_I64, "1");
	content[0] = ir_symbol(program->pool, "N");
	content[1] = ir_index(program->pool, 6);
	x.buf->content = content;
	y.buf->content = &content[1];
	CHECK_INT(RUN("Mul", 13, x, y), 0);
	x = node.output[0];
	CHECK_INT(RUN("Div", 13, x, y), 0);
	x = node.output[0];
	CHECK(x.buf->content && x.buf->content[0] == content[0] && ir_is_int(x.buf->content[1], 6));
	node.input[0] = x;
	CHECK_INT(lower_known(&node, 0, &known), 0);
	CHECK(known.n == 2 && known.at[0] == content[0]);
	x = input("z", TYPE_I64, "1");
	CHECK_INT(RUN("Mul", 13, x, y), 0);
	CHECK(!node.output[0].buf->content);
}

/* Cases are text, which cannot hold a graph: operators with one are tested only by models (tests/ort/ops_control.py).
 * */
static bool has_graph(const struct op_def *op)
{
	for (int i = 0; i < OP_MAX_ATTRS && op->attrs[i].kind; i++)
		if (op->attrs[i].kind == OP_GRAPH)
			return true;
	return false;
}

static void test_list(void)
{
	const struct op_def *before = NULL;
	int n = 0;

	for (const struct op_def *const *op = op_all(); *op; op++, n++) {
		bool ascending = (*op)->since[0] > 0, tested = (*op)->cases[0] || has_graph(*op);

		for (int i = 1; i < OP_MAX_VERSIONS && (*op)->since[i]; i++)
			ascending &= (*op)->since[i - 1] < (*op)->since[i];
		if (!ascending || !(*op)->lower || !(*op)->formula || !(*op)->outputs[0].kind || !tested)
			printf("%s is incomplete\n", (*op)->name);
		CHECK(ascending && (*op)->lower && (*op)->formula && (*op)->outputs[0].kind && tested);
		CHECK(op_find((*op)->domain, (*op)->name) == *op);
		if (before && !before->domain && !(*op)->domain)
			CHECK(strcmp(before->name, (*op)->name) < 0);
		before = *op;
	}
	CHECK(n > 100);
	CHECK(op_find("ai.onnx", "Add") && op_find("", "Add") == op_find("ai.onnx", "Add"));
	CHECK(!op_find("", "NoSuchOperator") && !op_find("other", "Add"));
	/* plugins match by name only */
	CHECK(op_find("", "grid_sampler") && op_any_domain(op_find("", "grid_sampler")));
	CHECK(op_find("", "grid_sampler") == op_find("mmdeploy", "grid_sampler") && !op_any_domain(op_find("", "Add")));
}

static struct value scalar(const char *name, double x)
{
	struct tensor *t = NEW(arena, struct tensor);
	struct ir_buffer *b;

	CHECK_INT(tensor_new(t, TYPE_F32, 0, NULL, arena, &failure), 0);
	tensor_set_float(t, 0, x);
	b = ir_buffer_new(program, name, TYPE_F32, 0, NULL, IR_CONSTANT);
	b->data = t;
	return (struct value){ .buf = b, .given = true };
}

static struct value step(const char *op, struct value a, struct value b)
{
	const struct attr_value last[] = { INTS("axes", -1) };

	if (b.given)
		CHECK_INT(RUN(op, 13, a, b), 0);
	else if (!strcmp(op, "ReduceMean"))
		CHECK_INT(RUN_WITH(op, 13, last, a), 0);
	else
		CHECK_INT(RUN(op, 13, a), 0);
	return node.output[0];
}

static void finish(struct value out, char *hash)
{
	out.buf->role = IR_OUTPUT;
	vec_push(arena, &program->outputs, out.buf);
	CHECK_INT(ir_check(program, &failure), 0);
	CHECK_INT(ir_optimise(program, NULL, NULL, &failure), 0);
	ir_hash(program, hash);
}

/* LayerNormalization and its usual nine nodes give the same program. */
static void test_layer_norm(void)
{
	const struct value none = { .buf = NULL };
	struct value x, scale, bias, mean, d, var;
	char one[33], nine[33];

	begin();
	x = input("x", TYPE_F32, "N 768");
	scale = input("scale", TYPE_F32, "768");
	bias = input("bias", TYPE_F32, "768");
	CHECK_INT(RUN("LayerNormalization", 17, x, scale, bias), 0);
	finish(node.output[0], one);

	begin();
	x = input("a", TYPE_F32, "N 768");
	scale = input("g", TYPE_F32, "768");
	bias = input("h", TYPE_F32, "768");
	mean = step("ReduceMean", x, none);
	d = step("Sub", x, mean);
	var = step("ReduceMean", step("Pow", d, scalar("two", 2)), none);
	var = step("Sqrt", step("Add", var, scalar("epsilon", 1e-5)), none);
	finish(step("Add", step("Mul", step("Div", d, var), scale), bias), nine);
	CHECK_STR(nine, one);
}

/* Stages other than maps write whole bytes; a map after them packs, and stays after them. */
static void test_packed(void)
{
	struct value x, n, made[3];
	struct space s, all;
	struct str text;

	begin();
	x = input("x", TYPE_F4E2M1, "N 5");
	n = input("which", TYPE_I64, "N");
	node = (struct lower){ .program = program, .err = &failure, .op = op_find("", "Identity"), .opset = 25 };
	lower_room(&node, 1, 1);
	x.pool = n.pool = program->pool;
	s = all = space_of(&node, x);
	made[0] = lower_reduce(&node, "least", TYPE_U2, &all, 1, IR_MINIMUM, wide(at(x, &all)), NULL);
	made[1] = lower_scan(&node, "running", TYPE_I4, &s, 1, IR_SUM, false, false, wide(at(x, &s)), NULL);
	expr to[] = { wrap_index(cast(load(n, s.at), TYPE_INDEX), s.dim[0]), s.at[1] };
	made[2] = lower_scatter(&node, "spread", TYPE_F4E2M1, &s, at(x, &s), &s, IR_NONE, to, load(x, s.at), NULL);
	for (int i = 0; i < 3; i++) {
		made[i].buf->role = IR_OUTPUT;
		vec_push(arena, &program->outputs, made[i].buf);
	}
	CHECK_INT(ir_optimise(program, NULL, NULL, &failure), 0);
	text = str_new(arena);
	ir_print_program(&text, program);
	CHECK_STR(
	        str_text(&text),
	        "program test(x: f4e2m1[N,5], which: i64[N]) -> (least: u2[N], running: i4[N,5], spread: f4e2m1[N,5])\n"
	        "  unpacked: u8[N] = min (i | r<5) f32(x[i, r]) then u8(u2(it))\n"
	        "  least: u2[N] = map (i) u2(unpacked[i])\n"
	        "  unpacked_2: i8[N,5] = scan sum along j (i, j) f32(x[i, j]) then i8(i4(it))\n"
	        "  running: i4[N,5] = map (i, j) i4(unpacked_2[i, j])\n"
	        "  unpacked_3: f8e4m3fn[N,5] = scatter replace (i, j | r<N, s<5) init f8e4m3fn(x[i, j]) at [max(0, "
	        "min(N - 1, select(index(which[r]) < 0, index(which[r]) + N, index(which[r])))), s] value "
	        "f8e4m3fn(x[r, s])\n"
	        "  spread: f4e2m1[N,5] = map (i, j) f4e2m1(unpacked_3[i, j])\n");
}

/* So do loops, for their states and collected values. */
static void test_packed_loop(void)
{
	struct value x, state, next, made[2];
	struct lower_loop loop;
	struct space s;

	begin();
	x = input("x", TYPE_I4, "5");
	node = (struct lower){ .program = program, .err = &failure, .op = op_find("", "Identity"), .opset = 25 };
	lower_room(&node, 1, 1);
	x.pool = program->pool;
	s = space_of(&node, x);
	loop = lower_loop_begin(&node, idx(&node, 3));
	state = lower_carry(&node, &loop, "state", TYPE_I4, &s, at(x, &s));
	/* Inside a loop, elements stay whole bytes: see ir_check(). */
	next = lower_map(&node, "next_state", TYPE_I8, &s, cast(addi(cast(at(state, &s), TYPE_I32), 3), TYPE_I4));
	lower_next(&node, &loop, state, next);
	made[1] = lower_collect(&node, &loop, "all", loop.turn, idx(&node, 3), next);
	lower_loop_end(&node, &loop);
	made[0] = lower_map(&node, "last", TYPE_I4, &s, at(state, &s));
	CHECK_INT(value_type(state), TYPE_I8);
	CHECK_INT(value_type(made[1]), TYPE_I8);
	for (int i = 0; i < 2; i++) {
		made[i].buf->role = IR_OUTPUT;
		vec_push(arena, &program->outputs, made[i].buf);
	}
	CHECK_INT(ir_check(program, &failure), 0);
	CHECK_INT(ir_optimise(program, NULL, NULL, &failure), 0);
}

static void test_many(void)
{
	const struct attr_value axis[] = { INT("axis", 0) };
	struct value in[LOWER_MAX_TENSORS];

	begin();
	for (int i = 0; i < LOWER_MAX_TENSORS; i++)
		in[i] = input(arena_printf(arena, "x%d", i), TYPE_F32, i % 2 ? "N" : "3");
	CHECK_INT(run("Concat", 13, LOWER_MAX_TENSORS, in, 1, axis), 0);
	CHECK_STR(shape(), "N * 250 + 750");
	node.output[0].buf->role = IR_OUTPUT;
	vec_push(arena, &program->outputs, node.output[0].buf);
	CHECK_INT(ir_check(program, &failure), 0);
}

int main(void)
{
	test_failures();
	test_broadcast();
	test_old_broadcast();
	test_shapes();
	test_content();
	test_list();
	test_layer_norm();
	test_packed();
	test_packed_loop();
	test_many();
	arena_free(arena);
	return test_done();
}
