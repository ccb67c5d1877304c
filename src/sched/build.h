/* Inside src/sched/: what all rules share to build kernels. */
#ifndef TPAT_SCHED_BUILD_H
#define TPAT_SCHED_BUILD_H

#include "sched/cost.h"
#include "sched/sched.h"

/* Statements. `b` is the block they are appended to; memory is the program's. A variable is known by what comes back, whatever
 * it is called: `name` is a hint. A loop's is ir_var(): the innermost one that is called so. */
struct ir_stmt *emit(struct ir_program *p, struct ir_block *b, enum ir_stmt_kind kind);
expr emit_declare(struct ir_program *p, struct ir_block *b, const char *name, expr value, expr extent);
/* One that is assigned to later. */
expr emit_variable(struct ir_program *p, struct ir_block *b, const char *name, expr first);
/* As emit_declare, also of what that would use as it is: numbers and variables. */
expr emit_constant(struct ir_program *p, struct ir_block *b, const char *name, expr value, expr extent);
/* The same of a variable that is known before. */
expr emit_define(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, expr value, expr extent);
expr emit_define_variable(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, expr first);
void emit_assign(struct ir_program *p, struct ir_block *b, expr variable, expr value);
struct ir_block *emit_for(struct ir_program *p, struct ir_block *b, const char *name, expr from, expr to, expr step);
/* A loop and its variable, of that extent. */
struct ir_block *emit_loop(struct ir_program *p, struct ir_block *b, const char *name, expr from, expr to, expr step,
			   expr extent, expr *variable);
struct ir_block *emit_for_each(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, expr from, expr to,
			       expr step);
struct ir_block *emit_if(struct ir_program *p, struct ir_block *b, expr cond);
void emit_return_if(struct ir_program *p, struct ir_block *b, expr cond);
void emit_store(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at, expr value);
/* v = combination of v in `lanes` neighbouring threads. The statement is good until the next one of the block. */
struct ir_stmt *emit_lanes_combine(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, enum ir_combine c,
				   int lanes);
/* part = running combination of `sum` and of part in all threads up to this one; sum = that of the last. */
void emit_lanes_scan(struct ir_program *p, struct ir_block *b, expr part, expr sum, enum ir_combine c, int lanes);
/* The same of an array, of which a warp's items lie together, `columns` neighbours at a time in each thread. */
void emit_items_scan(struct ir_program *p, struct ir_block *b, const struct ir_variable *items, expr sum, enum ir_combine c,
		     int lanes, int columns, bool exclusive);
void emit_comment(struct ir_program *p, struct ir_block *b, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Functions of the kernel's own, whose bodies the caller fills; calls of those in `header` (null: of the kernel's own). In CUDA
 * alone. `type` of variables as C++ has it: "shared_tile<f16, 64, 32>"; n: elements of an array, 0: none; `first`: what follows
 * the name, or null: "[3] = {}". */
struct ir_stmt *emit_lambda(struct ir_program *p, struct ir_block *b, const char *name);
expr emit_parameter(struct ir_program *p, struct ir_stmt *lambda, enum type t, const char *name, expr extent);
const struct ir_variable *emit_array_parameter(struct ir_program *p, struct ir_stmt *lambda, enum type t, const char *name, int n);
void take_parameter(struct ir_program *p, struct ir_stmt *lambda, const struct ir_variable *v);
const struct ir_variable *emit_shared(struct ir_program *p, struct ir_block *b, const char *type, const char *name, int n);
const struct ir_variable *emit_local(struct ir_program *p, struct ir_block *b, const char *type, const char *name,
				     const char *first);
/* A variable without a first value. */
void emit_local_of(struct ir_program *p, struct ir_block *b, const struct ir_variable *v);
struct ir_stmt *emit_invoke(struct ir_program *p, struct ir_block *b, const char *function, const char *header);
void emit_shared_array(struct ir_program *p, struct ir_block *b, struct ir_variable *array, int rank, const int *dim);
void add_variable(struct ir_program *p, struct ir_stmt *call, const struct ir_variable *v); /* by reference */
void add_text(struct ir_program *p, struct ir_stmt *call, const char *text);
void add_value(struct ir_program *p, struct ir_stmt *call, expr value);
void add_address(struct ir_program *p, struct ir_stmt *call, const struct ir_buffer *b, expr at, bool written);

/* a / b, rounded up, for a that is not negative. */
expr ceil_div(struct ir_program *p, expr a, int b);
/* A kernel of `threads` a block in which each thread has `width` of `count` elements from `element` on: sets its launch
 * sizes, declares `element`, and lets threads beyond the end return. */
expr declare_element(struct ir_program *p, struct ir_kernel *k, expr count, int threads, int width);

/* How a stage's axes are called in a kernel: AXIS k -> value. Loads become flat: where a load's position is the same
 * polynomial of axes as `same` plus something invariant, it becomes `same_as` plus that (so that an elementwise kernel
 * reads x[n]). `vector`, when not null, may replace whole loads. */
struct axes {
	const expr *value;               /* by axis; null entries: not needed, must not be met */
	expr same, same_as;              /* may be null */
	expr (*load)(void *user, expr e, expr flat); /* null result: an ordinary load */
	void *user;
	expr acc;                        /* what ACC stands for */
};
expr to_kernel(struct ir_program *p, expr e, const struct axes *a);

/* e with some of its nodes replaced. */
struct substitution {
	const expr *what, *with;
	int n;
};
expr substitute(const struct substitution *s, expr e);

/* The rank-1 view of a buffer that kernels index. */
const struct ir_buffer *flat_view(struct ir_program *p, const struct ir_buffer *b);

/* Axes of a space given their position: declares i, j, k ... (those in `used`) in `b` from the flat position `n`. */
void declare_axes(struct ir_program *p, struct ir_block *b, expr n, int rank, const expr *extent, const char *const *names,
		  const bool *used, expr *value);
/* Marks which axes an expression reads. */
void mark_axes(expr e, bool *used);
/* Bits of the widest type that e loads; 0: it loads nothing. */
int widest_load(expr e);

/* A new kernel of the step: named after the stage's buffer, with the stage's text as comment; collects arguments from the
 * body when finished. Kernels whose positions might pass 2^31 get a twin with 64-bit indices behind a guard. */
struct ir_step *step_new(struct ir_plan *plan);

/* Adds the steps of a stage made by a choice. Extents that the stage has no meaning for fit none of their kernels. */
void apply_choice(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c, const struct sched_target *t);
struct ir_kernel *kernel_new(struct ir_plan *plan, const struct ir_stage *s, const char *suffix,
			     const struct sched_choice *c);
void kernel_finish(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s);
/* Without the twin, for kernels that take a compiler long. False: the step needs a kernel for larger positions, which is the
 * caller's to make, and finished by kernel_finish_wide(). */
bool kernel_finish_narrow(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s);
void kernel_finish_wide(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s);
/* Guards (guard.c): all that a rule says about the extents a kernel is for. `fits` is a bool over symbols; null: nothing. A kernel
 * whose conditions fold to false is never made: the finishing functions drop it. */
void kernel_needs(struct ir_kernel *k, expr fits);      /* besides what it needs already */
void kernel_needs_only(struct ir_kernel *k, expr fits); /* instead of what it needed */
void kernel_needs_both(struct ir_kernel *k, const struct ir_kernel *a, const struct ir_kernel *b);
bool kernel_never_fits(const struct ir_kernel *k);
/* Appends the kernel, unless it never fits. */
void step_add(struct ir_program *p, struct ir_step *step, struct ir_kernel *k);
/* Whether the step's last kernel is for all extents and all GPUs; false for an empty step: one more kernel must follow. */
bool step_fits_all(const struct ir_step *step);
/* bool: `width` divides the extent. */
expr whole_multiple(struct ir_program *p, expr extent, int width);

/* Puts variables in the places of those that a kernel knows by their hints (bind.c). */
void bind_variables(struct ir_program *p, struct ir_block *b);

/* A name of its own among the plan's kernels. */
const char *kernel_unique_name(const struct ir_plan *plan, const char *name);

/* Decides of the plan's steps from number `from` on which of their kernels start early (early.c). */
void start_early(struct ir_plan *plan, int from, const struct sched_target *t);
bool may_start_early(const struct ir_kernel *k, const struct sched_target *t);

/* Small neighbouring steps of a plan become one, where that pays (share.c). `all`: every step made for the program, each once, to
 * which new ones are added; may be the plan itself. */
void share_launches(struct ir_plan *plan, struct ir_plan *all, const struct sched_target *t);

/* Vectors (vectors.c). Whether load e runs along an axis of that extent, each `width` elements of it at a multiple of `width` in
 * memory, where they are so along the axis and the extent is a multiple, too. */
bool vector_along(struct ir_program *p, expr e, int axis, expr extent, int width);
/* Whether an index is a multiple of `width` wherever the extent `symbol` is. */
bool is_multiple(expr e, int width, expr symbol);
/* Arrays of registers, of one rank or two; their elements. */
void emit_array(struct ir_program *p, struct ir_block *b, struct ir_variable *array, int width);
void emit_array_of_rows(struct ir_program *p, struct ir_block *b, struct ir_variable *array, int rows, int width);
expr item_of(const struct ir_variable *array, expr at);
expr item_of_row(const struct ir_variable *array, expr row, expr at);
void emit_set(struct ir_program *p, struct ir_block *b, const struct ir_variable *array, expr at, expr value);
void emit_set_in_row(struct ir_program *p, struct ir_block *b, const struct ir_variable *array, expr row, expr at, expr value);
/* The `width` elements from position `at` on, into an array that this declares, or into one that stands; row: of that, or null.
 * The statements are good until the next one of the block. */
struct ir_stmt *emit_load_vector(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
				 struct ir_variable *array, int width);
struct ir_stmt *emit_load_into(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
			       const struct ir_variable *array, expr row, int width);
struct ir_stmt *emit_store_vector(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
				  const struct ir_variable *array, int width);
struct ir_stmt *emit_store_row(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
			       const struct ir_variable *array, expr row, int width);
/* A loop of n turns, unrolled, and its variable. */
struct ir_block *emit_unrolled(struct ir_program *p, struct ir_block *b, const char *name, int n, expr *variable);
struct ir_block *emit_unrolled_each(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, int n, expr *variable);

/* The loads of a thread that makes `width` neighbouring elements along `inner`, beginning at a multiple of `width` of an extent
 * that is one, too (vector_loads.c). A vector is a load that runs along with the elements; or one of which every second or fourth
 * element does: two or four vectors; or one behind conditions that are the same for all elements of a thread; or one of which the
 * elements of each pair change places. */
struct vector_load {
	expr load, where; /* where: over the conditions' variables; null: always */
	int parts;        /* element v is number v / parts of vector v % parts */
	bool pairs;       /* or element v ^ 1 of one vector */
	int like;         /* which load before it has the same vector; -1: none */
	struct ir_variable *array; /* that in the end has all `width` elements */
};
struct vector_cond {
	expr cond, variable;
};
struct vector_loads {
	struct ir_program *p;
	expr value; /* with variables for the conditions */
	int inner, width;
	expr extent, lane; /* lane: an element's number, for vector_loads_lane */
	struct { VEC(struct vector_load); } found;
	struct { VEC(struct vector_cond); } cases;
	bool differs;
};
void vector_loads_find(struct vector_loads *l, struct ir_program *p, expr value, int inner, expr extent, int width);
/* Marks the axes that conditions and the vectors' beginnings need; `same` as in struct axes. */
void vector_loads_axes(const struct vector_loads *l, expr same, bool *used);
/* Conditions and vectors; `start`: of the thread's first element. */
void vector_loads_emit(const struct vector_loads *l, struct ir_block *b, const struct axes *start);
/* How many accesses to memory a load of the value is in each thread; negative: one an element. */
int vector_loads_accesses(const struct vector_loads *l, expr load);
/* For struct axes. */
expr vector_loads_lane(void *user, expr e, expr flat);

/* How threads go over a map's elements: `width` neighbours, at each of `planes` places along `axis`; vectors: loads of these are
 * what vector_loads says. And what the kernel takes then, in nanoseconds (cost_map.c). */
struct map_shape {
	int planes, axis, width;
	bool vectors;
};
double map_time(struct ir_program *p, const struct ir_stage *s, const struct map_shape *shape, const struct sched_target *t);

/* Tiles (tiles.c): pieces of `threads` * `items` that blocks take in their order, each going on from those before it. */
struct tiles {
	const struct ir_buffer *state; /* of u64, zeroed by a step of its own */
	int threads, items;
	expr tile;                     /* this block's */
};
/* Makes the state for `count` tiles that pass on a value of type `t`, and the step that zeroes it. */
struct tiles tiles_new(struct ir_plan *plan, const struct ir_stage *s, expr count, enum type t, int threads, int items);
expr tiles_of(struct ir_program *p, const struct tiles *t, expr n); /* how many tiles n elements need */
void tiles_take(struct ir_program *p, struct ir_kernel *k, struct tiles *t, expr count); /* declares `tile` */
/* Declares `before`: the combination of `sum` in the `n` tiles before this one. */
expr tiles_before(struct ir_program *p, struct ir_block *b, const struct tiles *t, expr sum, enum ir_combine c, expr n);

/* The first stage behind `from` at which a choice of each of these n lists begins. */
int sched_part_end(struct ir_program *p, const struct sched_choice *const *list, int n, int from);

/* What the stages from `from` to before `to` take with the choices of a list, by the cost model. */
double sched_time(struct ir_program *p, const struct sched_choice *list, int from, int to,
		  const struct sched_target *t);

/* The number of points of a stage's space: its out axes and, for reductions, the reduced ones; for scatters, updates;
 * for compactions, what they choose from. */
expr out_count(struct ir_program *p, const struct ir_stage *s);
expr space_count(struct ir_program *p, const struct ir_stage *s);
/* The product of out's extents from axis `from` to before `to`. */
expr out_extents(struct ir_program *p, const struct ir_stage *s, int from, int to);
expr rows_along(struct ir_program *p, const struct ir_stage *s); /* of out, along s->axis: of a scan or a sort */
/* About how many, for the target's extents of symbols. */
int64_t about(expr e, const struct sched_target *t);
/* About how many bytes the buffers have that e reads. */
double about_bytes_read(struct ir_program *p, expr e, const struct sched_target *t);
/* About how many bytes move for a load that is made `points` times, by neighbouring threads along `axis` (-1: along none). */
double about_bytes_loaded(struct ir_program *p, expr load, int axis, double points, const struct sched_target *t);
/* The target that also knows what to expect of sizes that are found at run time: half of what there can be. */
struct sched_target with_sizes(struct ir_program *p, const struct sched_target *t);

/* What accumulates in a reduction: `sum`, or `best` and `best_at` of an arg reduction. */
struct accumulator {
	struct ir_program *p;
	const struct ir_stage *s;
	expr value, position; /* variables */
	expr none;            /* the position that means "nothing yet" */
};
expr reduced_count(struct ir_program *p, const struct ir_stage *s);
struct accumulator accumulator_begin(struct ir_program *p, struct ir_block *b, const struct ir_stage *s);
/* One more value, at its position in the reduced space. Of an arg reduction: the block behind that it is the best one. */
struct ir_block *accumulate(struct accumulator *a, struct ir_block *b, expr value, expr position);
/* Of an arg reduction: where the best value is; of no values, the first place. */
expr accumulator_position(const struct accumulator *a);
/* Whether a value takes the place of the best so far in an arg reduction. */
expr accumulator_better(enum ir_combine c, expr value, expr best);

/* All values of one lane of `lanes`, for an arg reduction that may be made so (arg_vectors.c): vectors of `width` neighbours, in
 * the last reduced axis. `axis`: out's. */
bool arg_vectors_fit(const struct ir_program *p, const struct ir_stage *s, int width);
void arg_by_vectors(struct accumulator *a, struct ir_block *b, const expr *axis, expr lane, int lanes, int width);

/* What is stored of it: the post expression, with the stage's axes called `axis`; loads at position `same` are at `same_as`. */
expr accumulator_result(struct accumulator *a, const expr *axis, expr same, expr same_as);
/* Which of out's and the reduced axes a reduction reads, in its value and behind it. */
void axes_read(const struct ir_stage *s, bool *used);
expr out_position(struct ir_program *p, const struct ir_stage *s); /* of an element of out, over its axes */
/* Point `point` of a reduced space whose extents are numbers, as that many axes. */
void reduced_point(struct ir_program *p, const struct ir_stage *s, int64_t point, expr *axis);

/* Whether an extent is a number that n divides. */
static inline bool divides(expr extent, int n)
{
	int64_t x;
	return ir_const_int(extent, &x) && x % n == 0;
}

/* Whether an axis of what the stage makes can be had n elements at a time; -1, which is no axis: only one. */
static inline bool axis_divides(const struct ir_stage *s, int axis, int n)
{
	return n == 1 || (axis >= 0 && divides(s->out->dim[axis], n));
}

/* The rules' own match(): what was found, in the program's arena. */
#define FOUND(P, X) keep_found(P, &(X), sizeof(X))
const void *keep_found(struct ir_program *p, const void *found, size_t size);
/* sched_candidates() for stages that rules make. */
int rule_candidates(const struct sched_rule *r, struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
		    struct sched_choice *out);

/* Whether a map's result goes past the caches: it is more than they hold, and most of what moves. Measured on an H100: images that
 * are made of smaller ones, or floats of bytes, in 1 to 4 % less time; where as much is read, it makes no difference. */
bool stored_past_caches(struct ir_program *p, const struct ir_stage *s);
/* Whether the result of made[which] must be stored by the kernel that makes all `n` stages: somebody else reads it. */
bool stage_is_stored(const struct ir_program *p, const struct ir_stage *const *made, int n, int which);

extern const struct sched_rule sched_attention_wide, sched_attention_mma, sched_attention;
extern const struct sched_rule sched_contract_wide, sched_contract, sched_rows, sched_across;
extern const struct sched_rule sched_map, sched_flat, sched_planes, sched_march, sched_slab, sched_places;
extern const struct sched_rule sched_table, sched_tile;
extern const struct sched_rule sched_windows, sched_separable, sched_stencil;
extern const struct sched_rule sched_reduce_thread, sched_reduce_lanes, sched_reduce_columns, sched_reduce_split;
extern const struct sched_rule sched_rows_split;
extern const struct sched_rule sched_scatter, sched_scatter_rows, sched_scatter_lists;
extern const struct sched_rule sched_scan_thread, sched_scan_lanes, sched_scan_tiles;
extern const struct sched_rule sched_compact_block, sched_compact_tiles, sched_compact_marks, sched_loop_block;
extern const struct sched_rule sched_sort_block, sched_sort_select, sched_sort_radix;

#endif
