/* Kernels as CUDA C++ text. The small types, conversions and collectives it calls are in rt/device/tpat_device.h
 * and tpat_types.h. */
#include "gen/about.h"
#include "gen/gen_device.h"
#include "gen/text.h"
#include "gen/wrap.h"

/* For bool, min is "and" and max is "or". */
static const struct ir_device_function *const atomic[IR_COMBINE_COUNT] = {
	[IR_SUM] = &device_atomic_add,     [IR_PROD] = &device_atomic_mul, [IR_MAXIMUM] = &device_atomic_max,
	[IR_MINIMUM] = &device_atomic_min, [IR_ALL] = &device_atomic_min,  [IR_ANY] = &device_atomic_max,
};

static void print_for(struct gen_text *g, const struct ir_for *s)
{
	const char *name = gen_name(g, s->var);
	if (s->unrolled)
		str_line(g->out, "#pragma unroll");
	gen_scope(g);
	gen_indent(g);
	str_printf(g->out, "for (%s %s = ", gen_type(g, TYPE_INDEX), name);
	gen_expr(g, s->from);
	str_printf(g->out, "; %s < ", name);
	gen_operand(g, s->to);
	if (ir_is_int(s->step, 1)) {
		str_printf(g->out, "; %s++) {\n", name);
	} else {
		str_printf(g->out, "; %s += ", name);
		gen_operand(g, s->step);
		str_add(g->out, ") {\n");
	}
	gen_loop_begin(g, s->var, s->unrolled ? s->unrolled : 8);
	gen_block(g, s->body);
	gen_loop_end(g);
	gen_scope_end(g);
	str_line(g->out, "}");
}

/* A local function. Its common subexpressions are declared inside it. An object may be of any type that the function
 * which calls it passes. */
static void print_lambda(struct gen_text *g, const struct ir_lambda *s)
{
	const char *separator = "";
	gen_indent(g);
	str_printf(g->out, "const auto %s = [&](", gen_name(g, s->var));
	gen_scope(g);
	vec_each (v, &s->parameters) {
		if ((*v)->object)
			str_printf(g->out, "%sauto &%s", separator, gen_name(g, *v));
		else
			str_printf(g->out, (*v)->rank ? "%s%s (&%s)" : "%s%s %s", separator, gen_type(g, (*v)->type),
			           gen_name(g, *v));
		gen_dims(g, *v);
		separator = ", ";
	}
	str_add(g->out, ") {\n");
	gen_block(g, s->body);
	int begin = g->lets.n;
	g->out->indent++;
	if (s->value) {
		gen_lets(g, s->value, NULL);
		gen_indent(g);
		str_add(g->out, "return ");
		if (s->through) {
			gen_function(g, s->through);
			str_add(g->out, "(");
		}
		gen_expr(g, s->value);
		str_printf(g->out, "%s;\n", s->through ? ")" : "");
	}
	g->out->indent--;
	gen_lets_end_scope(g, begin);
	gen_scope_end(g);
	str_line(g->out, "};");
}

/* True if each 32-bit word of the buffer holds two of its 16-bit floats. */
static bool in_pairs(const struct ir_buffer *b)
{
	bool even = false;
	for (int k = 0; k < b->rank; k++)
		even |= ir_multiple(b->dim[k]) % 2 == 0;
	return even && (b->type == TYPE_F16 || b->type == TYPE_BF16);
}

static void print_update(struct gen_text *g, const struct ir_update *s)
{
	const struct ir_device_function *f = atomic[s->combine];
	ck(f);
	if (s->combine == IR_SUM && (s->paired || in_pairs(s->buf)))
		f = &device_atomic_add_paired;
	gen_begin(g, f->name);
	str_printf(g->out, "(%s + ", gen_buffer(g, s->buf));
	gen_position(g, s->buf, s->at, 1, NULL);
	str_add(g->out, ", ");
	gen_expr(g, s->value);
	str_add(g->out, ");\n");
}

static const struct ir_device_function *load_function(const struct ir_vector *s)
{
	return s->where ? &device_load_if : s->once ? &device_load_once : &device_load;
}

/* Begins a load from any position. What is known of the position: its distance from the last multiple of 16 bytes is
 * `first` elements plus a multiple of `step`. */
static void begin_shifted(struct gen_text *g, const struct ir_vector *s)
{
	enum { BYTES = 16 };
	int elements = BYTES * 8 / type_info(s->buf->type)->bits, step = 0, first = 0;
	for (int i = 0; i < elements; i++) {
		int64_t multiple = ir_multiple(ir_binary(IR_SUB, s->at, ir_index(s->at->pool, i)));
		int power = 1;
		while (power < elements && multiple % (2 * power) == 0)
			power *= 2;
		if (power > step) {
			step = power;
			first = i;
		}
	}
	gen_indent(g);
	gen_called(g, &device_load_shifted, IR_OF(IR_NUMBER(step), IR_NUMBER(first)));
}

static void print_load_vector(struct gen_text *g, const struct ir_vector *s)
{
	if (!s->stands)
		str_line(g->out, "%s %s[%d];", gen_type(g, s->buf->type), gen_name(g, s->array), s->width);
	gen_declared(g, s->array, s->at);
	if (type_is_packed(s->buf->type))
		gen_begin(g, arena_printf(g->out->arena, "%s_%s", device_load.name, type_name(s->buf->type)));
	else if (s->shifted)
		begin_shifted(g, s);
	else
		gen_begin(g, load_function(s)->name);
	str_add(g->out, "(");
	gen_array_row(g, s);
	str_printf(g->out, type_is_packed(s->buf->type) ? ", %s, " : ", %s + ", gen_buffer(g, s->buf));
	gen_position(g, s->buf, s->at, s->width, s->where);
	if (s->where) {
		str_add(g->out, ", ");
		gen_expr(g, s->where);
	}
	str_add(g->out, ");\n");
}

static void print_store_vector(struct gen_text *g, const struct ir_vector *s)
{
	bool packed = type_is_packed(s->buf->type);
	if (packed)
		gen_begin(g, arena_printf(g->out->arena, "%s_%s", device_store.name, type_name(s->buf->type)));
	else
		gen_begin(g, (s->once ? &device_store_once : &device_store)->name);
	str_printf(g->out, packed ? "(%s, " : "(%s + ", gen_buffer(g, s->buf));
	gen_position(g, s->buf, s->at, s->width, NULL);
	str_add(g->out, ", ");
	gen_array_row(g, s);
	str_add(g->out, ");\n");
}

static void print_stmt(struct gen_text *g, const struct ir_stmt *s)
{
	switch (s->kind) {
	case IR_FOR: print_for(g, &s->loop); break;
	case IR_UPDATE: print_update(g, &s->update); break;
	case IR_LOAD_VECTOR: print_load_vector(g, &s->vector); break;
	case IR_STORE_VECTOR: print_store_vector(g, &s->vector); break;
	case IR_SYNC: str_line(g->out, "__syncthreads();"); break;
	case IR_LANES_COMBINE: gen_combine(g, &s->lanes); break;
	case IR_LANES_SCAN: gen_scan(g, &s->scan); break;
	case IR_ITEMS_SCAN: gen_items_scan(g, &s->items); break;
	case IR_TILE_NEXT: gen_tile(g, &s->tile); break;
	case IR_TILES_BEFORE: gen_before(g, &s->before); break;
	case IR_SHARED: gen_shared(g, &s->shared); break;
	case IR_LOCAL: gen_local(g, &s->local); break;
	case IR_PLACE: gen_placed(g, &s->place); break;
	case IR_LAMBDA: print_lambda(g, &s->lambda); break;
	case IR_INVOKE: gen_invoke(g, s->call); break;
	default: ck(!"a serial sort is for C"); break;
	}
}

static const struct gen_target cuda = {
	.narrow_index = true,
	.forms = true,
	.thread = "thread",
	.block = "block",
	.comment = "// ",
	.comment_end = "",
	.leave = "return",
	.stmt = print_stmt,
};

/* A compiler may hoist reads of `const __restrict__` memory above anything, including the wait for the previous kernel
 * and writes by other parts of the same launch. That is correct only for constants. */
static bool is_restrict(const struct ir_program *p, const struct ir_kernel *k, const struct ir_buffer *view, bool waits)
{
	if (ir_kernel_exchanges(k, view)) /* another thread may have written it */
		return false;
	return !waits || ir_kernel_writes(k, view) || p->buffers.at[view->id]->role == IR_CONSTANT;
}

static void print_parameters(struct gen_text *g, const char *separator, const struct ir_program *p, bool waits)
{
	const struct ir_kernel *k = g->kernel;
	vec_each (b, &k->buffers) {
		str_printf(g->out, "%s%s%s *%s%s", separator, ir_kernel_writes(k, *b) ? "" : "const ",
		           gen_element_type(g, (*b)->type), is_restrict(p, k, *b, waits) ? "__restrict__ " : "",
		           gen_buffer(g, *b));
		separator = ", ";
	}
	vec_each (n, &k->symbols)
		str_printf(g->out, ", %s %s", gen_type(g, TYPE_INDEX), gen_symbol(g, *n));
	vec_each (x, &k->parameters)
		str_printf(g->out, ", const %s %s", gen_type(g, x->var->type), gen_name(g, x->var));
	vec_each (m, &k->maps)
		str_printf(g->out, ", const __grid_constant__ tensor_map %s", gen_name(g, m->var));
	str_add(g->out, ")\n{\n");
	vec_each (x, &k->parameters) {
		if (!x->by)
			continue;
		str_printf(g->out, "\tconst %s %s = { ", device_divisor.name, gen_name(g, x->by));
		gen_expr(g, x->divisor);
		str_printf(g->out, ", %s };\n", gen_name(g, x->var));
	}
}

static void print_head(struct gen_text *g, const struct ir_program *p)
{
	const struct ir_kernel *k = g->kernel;
	str_printf(g->out, "extern \"C\" __global__ __launch_bounds__(%d", k->threads);
	if (k->resident)
		str_printf(g->out, ", %d", k->resident);
	str_add(g->out, ")");
	if (k->cluster)
		str_printf(g->out, " block_cluster(%d)", k->cluster);
	g->function = gen_kernel_name(g, k, false);
	str_printf(g->out, "\nvoid %s(", g->function);
	print_parameters(g, "", p, k->early);
}

/* True if statements of the block access several elements of the array at once. */
static bool has_vectors(const struct ir_block *b, const struct ir_buffer *array)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		bool vector = s->kind == IR_LOAD_VECTOR || s->kind == IR_STORE_VECTOR;
		if (vector && s->vector.buf == array && s->vector.width > 1)
			return true;
		if (ir_stmt_body(s) && has_vectors(ir_stmt_body(s), array))
			return true;
	}
	return false;
}

static void print_shared(struct gen_text *g)
{
	const struct ir_kernel *k = g->kernel;
	struct str *out = g->out;
	const char *memory = gen_name(g, ir_shared_memory(k->blocks->pool));
	if (k->shared_bytes)
		str_printf(out, "\textern __shared__ __align__(1024) uint4 %s[];\n", memory);
	int64_t first = 0; /* in units of the memory, 16 bytes */
	vec_each (b, &k->shared) {
		const char *type = gen_type(g, (*b)->type), *name = gen_buffer(g, *b);
		if (!k->shared_bytes)
			str_printf(out, "\t__shared__ %s%s %s[%lld];\n",
			           has_vectors(&k->body, *b) ? "__align__(16) " : "", type, name,
			           (long long)(*b)->dim[0]->i);
		else if (!first)
			str_printf(out, "\t%s *const %s = (%s *)%s;\n", type, name, type, memory);
		else
			str_printf(out, "\t%s *const %s = (%s *)(%s + %lld);\n", type, name, type, memory,
			           (long long)first);
		first += ir_shared_bytes(*b) / 16;
	}
}

/* `first`: the kernel's block that is the part's first; null: it runs as block 0. `parameter`: of the whole kernel, the
 * part's first. */
static void print_part_call(struct gen_text *g, const struct ir_kernel *part, expr first, int parameter)
{
	gen_indent(g);
	str_printf(g->out, "%s(%s", gen_kernel_name(g, part, true), first ? gen_block_number(g) : "0");
	if (first && !ir_is_int(first, 0)) {
		bool number = first->op == IR_CONST_INT;
		str_add(g->out, number ? " - " : " - (");
		gen_expr(g, first);
		str_add(g->out, number ? "" : ")");
	}
	vec_each (b, &part->buffers) {
		const struct ir_buffer *own = ir_kernel_own(g->kernel, *b);
		str_printf(g->out, ", %s", gen_buffer(g, own ? own : *b));
	}
	vec_each (n, &part->symbols)
		str_printf(g->out, ", %s", gen_symbol(g, *n));
	for (int i = 0; i < part->parameters.n; i++)
		str_printf(g->out, ", %s", gen_name(g, g->kernel->parameters.at[parameter + i].var));
	str_add(g->out, ");\n");
}

/* Prints the parts before number `to` one after another. Returns the number of their parameters. */
static int print_in_turn(struct gen_text *g, int to)
{
	const struct ir_kernel *k = g->kernel;
	int parameter = 0;
	for (int i = 0; i < to; parameter += k->parts.at[i++]->parameters.n) {
		const struct ir_kernel *part = k->parts.at[i];
		bool fewer = part->threads < k->threads;
		if (i)
			str_line(g->out, "__syncthreads();");
		if (fewer) {
			gen_indent(g);
			str_printf(g->out, "if (%s < %d)\n", gen_thread_number(g), part->threads);
			g->out->indent++;
		}
		print_part_call(g, part, k->repeated ? NULL : ir_index(k->blocks->pool, 0), parameter);
		g->out->indent -= fewer;
	}
	return parameter;
}

/* The parts that every block repeats: their results are in shared memory, and the first block stores them. Returns the
 * number of their parameters. */
static int print_repeated(struct gen_text *g)
{
	const struct ir_kernel *k = g->kernel;
	vec_each (r, &k->results) {
		gen_indent(g);
		str_printf(g->out, "__shared__ __align__(16) %s %s[%lld];\n", gen_type(g, r->own->type),
		           gen_buffer(g, r->own), (long long)r->own->dim[0]->i);
	}
	int parameters = print_in_turn(g, k->repeated);
	str_line(g->out, "__syncthreads();");
	int64_t elements = 0; /* of the results in the branch that is open; 0: none is */
	vec_each (r, &k->results) {
		int64_t own = r->own->dim[0]->i;
		const char *thread = gen_thread_number(g), *at = own == 1 ? "0" : thread;
		if (own != elements && elements)
			str_line(g->out, "}");
		if (own != elements && own == 1)
			str_line(g->out, "if (%s == 0 && %s == 0) {", gen_block_number(g), thread);
		else if (own != elements)
			str_line(g->out, "if (%s == 0 && %s < %lld) {", gen_block_number(g), thread, (long long)own);
		elements = own;
		str_line(g->out, "\t%s[%s] = %s[%s];", gen_buffer(g, r->buf), at, gen_buffer(g, r->own), at);
	}
	if (elements)
		str_line(g->out, "}");
	return parameters;
}

static void print_parts(struct gen_text *g)
{
	const struct ir_kernel *k = g->kernel;
	expr first = ir_index(k->blocks->pool, 0);
	int from = k->repeated, parameter = from ? print_repeated(g) : 0;
	if (k->in_turn) {
		print_in_turn(g, k->parts.n);
		return;
	}
	for (int i = from; i < k->parts.n; parameter += k->parts.at[i++]->parameters.n) {
		const struct ir_kernel *part = k->parts.at[i];
		expr end = ir_binary(IR_ADD, first, part->blocks);
		bool alone = from == k->parts.n - 1;
		if (i < k->parts.n - 1) {
			gen_indent(g);
			str_printf(g->out, "%sif (%s < ", i > from ? "else " : "", gen_block_number(g));
			gen_operand(g, end);
			str_add(g->out, ")\n");
		} else if (!alone) {
			str_line(g->out, "else");
		}
		g->out->indent += !alone;
		print_part_call(g, part, first, parameter);
		g->out->indent -= !alone;
		first = end;
	}
}

/* A kernel that shares a launch with others becomes a function of its own block number. */
static void print_part_head(struct gen_text *g, const struct ir_program *p)
{
	g->block = gen_own(g, "own_block");
	g->function = gen_kernel_name(g, g->kernel, true);
	str_printf(g->out, "static __device__ __forceinline__\nvoid %s(const %s %s", g->function,
	           gen_type(g, TYPE_INDEX), g->block);
	print_parameters(g, ", ", p, true);
}

static void print_body(struct gen_text *g, bool part)
{
	const struct ir_kernel *k = g->kernel;
	print_shared(g);
	if (k->early && !part)
		str_printf(g->out, "\t%s();\n", device_wait_for_last_kernel.name);
	if (k->parts.n) {
		g->out->indent++;
		print_parts(g);
		g->out->indent--;
	} else {
		gen_block(g, &k->body);
	}
}

struct print {
	struct map printed;         /* functions, by name */
	const struct map *reserved; /* names that kernels must not use */
	const struct ir_program *program;
	struct gen_about about;
};

/* CUDA's built-in indices are unsigned, but index arithmetic is signed: -1 must stay -1. */
static void print_builtin(struct gen_text *g, struct str *out, const char *name, const char *value)
{
	if (name)
		str_printf(out, "\tconst %s %s = %s;\n", gen_type(g, TYPE_INDEX), name, value);
}

/* True if the block has a loop that lanes share. */
static bool strides(const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		const struct ir_block *body = ir_stmt_body(s);
		if ((s->kind == IR_FOR && !s->loop.unrolled && !ir_is_int(s->loop.step, 1)) || (body && strides(body)))
			return true;
	}
	return false;
}

/* A kernel, or a part of one. A bound of the thread's number spares branches around loads that are in bounds for every
 * thread. In a loop that lanes share it would give the compiler the number of turns, which it then unrolls one by one:
 * ArgMax f16[112,4523] takes 1.76 times as long on an H200 than with four turns' loads at once. */
static void print_function(struct str *out, const struct ir_kernel *of_plan, struct print *x, bool part)
{
	const struct ir_kernel printed = ir_kernel_printed(of_plan), *k = &printed;
	struct str head = str_new(out->arena), body = str_new(out->arena), named = str_new(out->arena);
	struct names names = names_new(out->arena, x->reserved);
	struct gen_text g = { .out = &head,
		              .target = &cuda,
		              .kernel = k,
		              .names = &names,
		              .coarse = gen_coarse(k),
		              .fixed = map_new(head.arena),
		              .whole = map_new(head.arena) };
	gen_find_whole(&g, &k->body);
	gen_about(out, &x->about, of_plan, part);
	if (part)
		print_part_head(&g, x->program);
	else
		print_head(&g, x->program);
	g.out = &body;
	print_body(&g, part);
	print_builtin(&g, &head, g.thread, "threadIdx.x");
	if (g.thread && !strides(&k->body))
		str_printf(&head, "\t__builtin_assume(%s >= 0 && %s < %d);\n", g.thread, g.thread, k->threads);
	print_builtin(&g, &head, part ? NULL : g.block, "blockIdx.x");
	if (g.block && !part && k->cluster) /* its rank in the cluster is a remainder, which is not negative either */
		str_printf(&head, "\t__builtin_assume(%s >= 0);\n", g.block);
	str_add(&head, str_text(&body));
	str_add(&head, "}\n");
	names_choose(&named, &names, str_text(&head));
	gen_wrap(out, str_text(&named));
}

/* Compilers skip kernels of other architectures, which would compile slowly without their instructions. The emulator
 * runs all. */
static void print_kernel(struct str *out, const struct ir_kernel *k, struct print *x)
{
	if (k->arch)
		str_printf(out, "#if TPAT_ARCH == %d || TPAT_ARCH == 0\n", 10 * k->arch);
	print_function(out, k, x, false);
	if (k->arch)
		str_add(out, "#endif\n");
}

/* Prints the kernels with 32-bit or with 64-bit positions; the latter come last, as they are rarely needed. */
static void print_kernels(struct str *out, const struct ir_plan *plan, bool index64, struct print *x)
{
	x->program = plan->program;
	vec_each (step, &plan->steps) {
		vec_each (k, *step) {
			if ((*k)->index64 != index64 || map_get(&x->printed, (*k)->name))
				continue;
			map_put(&x->printed, (*k)->name, *k);
			str_add(out, "\n");
			vec_each (part, &(*k)->parts) {
				const char *name = arena_printf(out->arena, "%s_part", (*part)->name);
				if (!map_get(&x->printed, name)) {
					print_function(out, *part, x, true);
					str_add(out, "\n");
				}
				map_put(&x->printed, name, *part);
			}
			print_kernel(out, *k, x);
		}
	}
}

static void print_plans(struct str *out, const struct ir_plan *const *plans, int n)
{
	struct print x = { .printed = map_new(out->arena),
		           .reserved = names_reserved(KERNEL_CUDA),
		           .about = { &cuda, plans, n, map_new(out->arena), map_new(out->arena) } };
	gen_includes(out, plans, n);
	if (n && plans[0]->program->checked)
		str_add(out, "#include \"" GEN_CHECK_HEADER "\"\n");
	for (int i = 0; i < n; i++) {
		if (!i || plans[i]->program != plans[i - 1]->program) {
			str_add(out, "\n");
			gen_about_program(out, plans[i]);
		}
		print_kernels(out, plans[i], false, &x);
		print_kernels(out, plans[i], true, &x);
	}
}

const struct language language_cuda = {
	.name = "CUDA C++",
	.ending = ".cu",
	.print = print_plans,
	.compile = dev_cuda_compile,
};
