/* The vocabulary of operators: how a lower function reads its node and builds stages. Every operator file includes it.
 *
 * An index space has up to IR_MAX_RANK axes: struct space holds their extents and their index expressions (AXIS
 * nodes). Arithmetic is done in a compute type: wide() converts f16, bf16 and fp8 to f32, and 8- and 16-bit integers
 * to i32; narrow() converts the result back to the element type.
 *
 * Functions that return int return 0, or the negative code of a failure that they have recorded in l->err: forward it
 * with TRY(). Everything lives as long as the program's arena. A misuse, like an attribute that the op_def does not
 * have, is a bug: ck() finds it. */
#ifndef TPAT_OPS_LOWER_H
#define TPAT_OPS_LOWER_H

#include "ops/lower/op.h"

/* ---- One attribute of the node as the model has it; graph/ fills it in. */
struct attr_value {
	const char *name;
	enum op_attr_kind kind;
	int64_t i;
	double f;
	const char *s;
	int n; /* length of OP_INTS, OP_FLOATS, OP_STRINGS */
	const int64_t *ints;
	const double *floats;
	const char *const *strings;
	const struct tensor *tensor;
	const void *graph; /* OP_GRAPH: opaque here; see lower_graph() */
};

struct value {
	struct ir_buffer *buf; /* null when not given */
	bool given;
	struct ir_pool *pool; /* filled by lower_node() */
};

/* The graph of an OP_GRAPH attribute: its numbers of formal inputs and outputs, and their names in the model. */
struct lower_body {
	int inputs, outputs;
	const char *const *input, *const *output;
};
/* Callbacks for operators with graphs, implemented by the caller, who knows the model; see lower_graph(). */
struct lower_bodies {
	void (*describe)(struct lower_body *out, struct lower *l, const struct attr_value *v);
	int (*lower)(struct lower *l, const struct attr_value *v, const struct value *in, struct value *out);
	/* May give the input buffer a content: symbols for elements that are known when the program is launched. */
	void (*ask)(struct lower *l, struct ir_buffer *b);
};

/* A branch of an If. Both branches are lowered and computed, whichever is taken. */
struct lower_branch {
	expr taken; /* the condition, a bool over symbols; null: it depends on data */
};

/* One node being lowered into a program. The caller fills in the first part; lower_node() runs the operator. */
enum { LOWER_MAX_TENSORS = 500 }; /* limit of inputs, of outputs, and of lists of integers, of a node */
struct lower {
	struct ir_program *program;
	struct err *err;
	const struct op_def *op;
	int opset;                /* opset version of the operator's domain */
	const char *label;        /* the node's label for messages */
	const char *const *names; /* the inputs' names in the model; may be null */
	const char *name;    /* the first output's name: the node's alone, also in the rewritten model; may be null */
	int inputs, outputs; /* how many the node lists */
	struct value *input; /* not given if its name is empty; lower_room() makes this list and the next three */
	bool *wanted;        /* output i has a name */
	int attrs;
	const struct attr_value *attr;
	const struct lower_bodies *bodies; /* null: no attribute is an OP_GRAPH */
	const void *scope;                 /* for `bodies`; opaque here */
	const struct lower_branch *branch; /* the branch that contains the node; null: the node always runs */
	const struct lower_branch *inner; /* the branch that a graph of this node is lowered as; null: the node's own */
	struct {
		VEC(struct ir_demand);
	} held;               /* demands of a node inside a branch; see lower_demand_release() */
	struct value *output; /* the results; lower_output() sets them */
	struct map settled;   /* pairs of extents that already have a demand; see lower_demand.c */
	bool partial;         /* after a failure: the results made so far have the right types and extents */
	enum type *type_only; /* after a failure: types of results of which only the type is known */
	bool engine_ranks;    /* axes of open extent are not 1 where that decides a rank: see graph_options */
	bool random;          /* the results are random: they are not constants, even without inputs */
};

/* Makes room for the inputs and outputs, and at least for those of any operator's own list, in the program's arena. */
void lower_room(struct lower *l, int inputs, int outputs);

/* Checks inputs, attributes and types against the op_def (number, required ones, allowed types and words), runs the
 * operator's function, and checks that every wanted output was made. */
int lower_node(struct lower *l);

/* ---- Failures. Messages start with the node's label, operator and opset. */
int lower_fail(struct lower *l, enum err_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- Inputs. An absent optional input, or one beyond the node's list, has .given false. */
struct value lower_input(struct lower *l, int i);
enum type value_type(struct value v);
int value_rank(struct value v);
expr value_dim(struct value v, int axis);
expr value_count(struct value v); /* product of all extents */

/* An integer input whose values decide shapes (axes, sizes, pads, repeats ...): its elements as expressions of type
 * index, from a constant or from shape arithmetic over symbols. A scalar gives n = 1. Fails with ERR_UNSUPPORTED and
 * advice if they are not known at build time. */
struct exprs {
	int n;
	expr at[LOWER_MAX_TENSORS];
};
int lower_known(struct lower *l, int i, struct exprs *out);
/* The same for extents: an unknown input of the graph gets symbols for its elements, which are not negative. Do not
 * use it if zero or a negative number has a special meaning to the operator. */
int lower_extents(struct lower *l, int i, struct exprs *out);
/* As lower_known(), but fails unless all elements are plain numbers. */
struct ints {
	int n;
	int64_t at[LOWER_MAX_TENSORS];
};
int lower_known_ints(struct lower *l, int i, struct ints *out);
/* True if a bool of one element is known at build time; *holds is its value. */
bool lower_known_bool(struct value v, bool *holds);
/* The value of input i if it is a constant, else null. */
const struct tensor *lower_constant(struct lower *l, int i);

/* ---- Attributes, with the op_def's default if absent. Absent lists have n = 0. `name` must be in the op_def. */
bool lower_has(struct lower *l, const char *name); /* the node has the attribute */
int64_t lower_int(struct lower *l, const char *name);
double lower_float(struct lower *l, const char *name);
const char *lower_word(struct lower *l, const char *name);
struct ints lower_ints(struct lower *l, const char *name);
/* Lists of any length; they return the count. */
int lower_floats(struct lower *l, const char *name, const double **at);
int lower_int_list(struct lower *l, const char *name, const int64_t **at);
int lower_strings(struct lower *l, const char *name, const char *const **at);
const struct tensor *lower_tensor(struct lower *l, const char *name);   /* null if absent */
const struct attr_value *lower_attr(struct lower *l, const char *name); /* null if absent */
/* For operators that moved an attribute to an input: the attribute if the node has it, else input `i` if given (plain
 * numbers). *given is true if either was there. */
int lower_ints_or_input(struct lower *l, const char *attr, int i, struct ints *out, bool *given);
/* Sets *out to the axis; a negative one counts from the end. Fails outside -rank..rank-1; with `end`, rank itself is
 * allowed. */
int lower_axis(struct lower *l, int64_t axis, int rank, bool end, int *out);

/* ---- Graphs: attributes of kind OP_GRAPH. */
/* Sets *out to the inputs and outputs of graph `attr`. Fails if the node does not have it. */
int lower_body(struct lower *l, const char *attr, struct lower_body *out);
/* Lowers the nodes of the graph into l->program, at this place. in[i] is formal input i: any buffer of the program;
 * not given: the input has no value. Names from outside the graph are already bound. out[i] is output i: a buffer that
 * the graph made, or passed on. Both numbers must be the graph's own; otherwise the model is in error. Every call
 * lowers the nodes again. */
int lower_graph(struct lower *l, const char *attr, int inputs, const struct value *in, int outputs, struct value *out);
/* The same for a graph without inputs that runs only where `taken` holds, a bool over symbols; null: it depends on
 * data. */
int lower_graph_branch(struct lower *l, const char *attr, expr taken, int outputs, struct value *out);

/* ---- Constants and expressions. The names are short because operator files are formulas. */
expr num(struct lower *l, enum type t, double x); /* a constant of type t, float or integer */
expr idx(struct lower *l, int64_t x);             /* a constant of type index */
expr add(expr a, expr b);
expr sub(expr a, expr b);
expr mul(expr a, expr b);
expr divide(expr a, expr b); /* floats, or integers rounded toward zero */
expr floordiv(expr a, expr b);
expr mod(expr a, expr b);
expr rem_(expr a, expr b);
expr min_(expr a, expr b);
expr max_(expr a, expr b);
expr pow_(expr a, expr b);              /* lower_power.c */
expr pow_nonnegative(expr a, double b); /* of numbers that are known not to be negative, or NaN */
expr eq(expr a, expr b);
expr ne(expr a, expr b);
expr lt(expr a, expr b);
expr le(expr a, expr b);
expr gt(expr a, expr b);
expr ge(expr a, expr b);
expr and_(expr a, expr b);
expr or_(expr a, expr b);
expr not_(expr a);
expr select_(expr cond, expr a, expr b);
expr cast(expr a, enum type to);
expr unary(enum ir_op op, expr a);       /* IR_EXP, IR_SQRT ... */
expr clamp(expr x, expr low, expr high); /* min_(max_(x, low), high); NaN stays NaN */
expr addi(expr a, int64_t c);            /* a + c, with c in a's type */
expr muli(expr a, int64_t c);
expr ceildiv(expr a, expr b); /* index arithmetic: a / b rounded up */
expr with(expr a, double c);  /* the constant c in a's type */

enum type compute_type(enum type t);     /* f16 -> f32, i8 -> i32 ...; others themselves */
expr wide(expr a);                       /* cast to the compute type of a's type */
expr narrow(expr a, enum type to);       /* cast from the compute type to the element type */
enum type accumulator_type(enum type t); /* the type of sums: f32 or f64 for floats, else the compute type */

/* ---- Index spaces. */
struct space {
	int rank;
	expr dim[IR_MAX_RANK];
	expr at[IR_MAX_RANK]; /* AXIS nodes */
};
struct space space_of(struct lower *l, struct value v);             /* v's axes */
struct space space_new(struct lower *l, int rank, const expr *dim); /* with these extents */
expr space_push(struct lower *l, struct space *s, expr extent);     /* appends an axis; returns its index */
/* Broadcasts the shapes of n values as numpy does; extents that are not known to be equal are compared at run time. */
int space_broadcast(struct lower *l, struct space *out, int n, const struct value *v);

/* ---- Demands on extents. lower_demand() relates axis i of a to axis j of b, each an input of the node or a tensor
 * that it made. A relation that cannot be decided here becomes a demand of the program, which is checked before it
 * runs. */
int lower_demand(struct lower *l, enum ir_relation r, struct value a, int i, struct value b, int j);
/* Demands that two extents are equal. *out is the one to continue with: a constant, or the simpler expression. */
int lower_same(struct lower *l, struct value a, int i, struct value b, int j, expr *out);
/* The same without the result. */
int lower_equal(struct lower *l, struct value a, int i, struct value b, int j);
/* Suppresses the automatic demand for an axis of extent `dim` that is read over `extent` elements: the operator's own
 * conditions keep its reads inside. */
void lower_settle(struct lower *l, expr dim, expr extent);
/* Relates a number that follows from other extents to axis j of b. */
int lower_demand_extent(struct lower *l, enum ir_relation r, expr extent, struct value b, int j);
/* The largest value of an index that is a sum of products of axes, turns and extents, if there are any axes and turns.
 * Null for any other index. */
expr lower_highest(expr e);
/* Relates two numbers with names for messages, like "heads of the key". `first` may be null. */
int lower_demand_of(struct lower *l, enum ir_relation r, const char *first, expr a, const char *second, expr b);
/* Demands that the extent of axis i is a multiple of n, for instance to split it into n parts. */
int lower_demand_multiple(struct lower *l, struct value v, int i, int64_t n);
/* *out is the index into axis i of v that belongs to index `at` of axis j of `of`, if v has one element for all or one
 * for each: 0 or `at`, also if the extent is known only at run time. */
int lower_one_or_each(struct lower *l, struct value v, int i, struct value of, int j, expr at, expr *out);
/* *out is the element of a scale or zero point v that belongs to index `at` of axis j of `of`: v is a scalar, or a
 * list with one element for all or one for each. */
int lower_parameter(struct lower *l, struct value v, struct value of, int j, expr at, expr *out);
/* For lower_node(): reads of the stages from number `first` on that may exceed a buffer become demands too. */
int lower_demand_reads(struct lower *l, int first);
/* For lower_node(): a branch that is not taken demands nothing. If symbols decide whether it is taken, a demand of its
 * node holds for that case; otherwise it is dropped. The stages from number `first` on are then guarded: they read
 * zero outside of a tensor and write nothing there. Sorts cannot be guarded and keep their demands. */
int lower_demand_release(struct lower *l, int first);
/* For space_broadcast(): demands of n operands, aligned right, along axis `axis` from the right, whose common extent is
 * `whole`. */
int lower_demand_broadcast(struct lower *l, int n, const struct value *v, int axis, expr whole);

/* ---- Elements. */
expr load(struct value v, const expr *index); /* rank(v) indices */
/* The same at indices that are data; zero if the tensor is known to be empty: then there are no indices at run time, or
 * wrong ones. */
expr load_or_zero(struct value v, const expr *index);
expr load_list(struct value v, int n, ...);     /* the same, listed */
expr at(struct value v, const struct space *s); /* at the index of the space, broadcast (aligned right) */
expr at_axis(struct value v, const struct space *s, int axis); /* the same, with v's first axis at the space's `axis` */
/* Sets the first n indices of v, broadcast: its axes 0..n-1 are the space's axes from `axis` on. */
void index_axes(struct value v, int n, const struct space *s, int axis, expr *index);
expr at_first(struct value v);           /* the only element of a scalar, or of a tensor of one element */
expr at_flat(struct value v, expr flat); /* at row-major position `flat` */
/* The row-major position in a tensor of extents dim; back: ir_unflat(). */
expr flatten(struct lower *l, int rank, const expr *dim, const expr *index);
/* An index that comes from a tensor: negative ones count from the end; the result is clamped to 0..extent-1, so that
 * bad data never faults. */
expr wrap_index(expr i, expr extent);

/* ---- Stages. A null `name` means the operator's next output, or a temporary. The extents are those of s; `t` is the
 * element type. */
struct value lower_map(struct lower *l, const char *name, enum type t, const struct space *s, expr value);
/* The reduction by c: the result has s's first `rank` axes, the others are reduced. `post` is over the first axes and
 * acc(); null: a cast to t. The accumulator's type is value's type. */
struct value lower_reduce(struct lower *l, const char *name, enum type t, const struct space *s, int rank,
                          enum ir_combine c, expr value, expr post);
expr acc(struct lower *l, enum type t); /* the accumulator in `post`, of type t */
/* A last step that one operator adds to another's result: from y, an element of the result over `out` in the compute
 * type, to the value that is stored. */
typedef int (*lower_finish)(struct lower *l, const struct space *out, expr y, expr *result);
/* The running combination by c along `axis` up to each position, which is included unless `exclusive`; from the end if
 * `reverse`. `post` is over s and acc(); null: a cast to t. The accumulator's type is value's type. */
struct value lower_scan(struct lower *l, const char *name, enum type t, const struct space *s, int axis,
                        enum ir_combine c, bool exclusive, bool reverse, expr value, expr post);
/* init over `out`, then for each point of s where `where` holds (null: everywhere): out[at...] = c(out, value). */
struct value lower_scatter(struct lower *l, const char *name, enum type t, const struct space *out, expr init,
                           const struct space *s, enum ir_combine c, const expr *at, expr value, expr where);
/* The stable order of value along `axis`, ascending or descending: for each place of the order, the position of its
 * element, in t (i32 or i64). `s` has the result's axes, then the axis that value runs over along `axis`. */
struct value lower_sort(struct lower *l, const char *name, enum type t, const struct space *s, int axis,
                        bool descending, expr value);
/* Picks, in order, of the elements of each row along `axis` those for which value holds with none picked before, up to
 * the first element for which `where` does not hold: their positions, in t (i32 or i64); -1 after the last one. `s` has
 * the result's axes, then two of the elements' number: the element, and the one picked before it; `where` is over the
 * former only. */
struct value lower_pick(struct lower *l, const char *name, enum type t, const struct space *s, int axis, expr value,
                        expr where);
/* The values at the points of s, in row-major order, where `where` holds: one axis, whose extent is a new size known
 * only at run time. *count, unless `count` is null, is that number, a scalar i64. */
struct value lower_compact(struct lower *l, const char *name, enum type t, const struct space *s, expr value,
                           expr where, struct value *count);

/* A loop of `trip` turns. The stages lowered between begin and end are its body; `turn` is the turn's index.
 *   struct lower_loop loop = lower_loop_begin(l, steps);
 *   struct value h = lower_carry(l, &loop, "h", TYPE_F32, &space, at(h0, &space));
 *   struct value g = lower_map(l, "g", ... at(h, &space) ... loop.turn ...);
 *   lower_next(l, &loop, h, g);
 *   struct value y = lower_collect(l, &loop, NULL, loop.turn, steps, g);
 *   lower_loop_end(l, &loop);
 * After lower_loop_end(), h is the last state and y can be read. Loops may be nested. Types narrower than a byte are
 * carried and collected as their type_unpacked(): cast them back where you read them. Maps of the body that make such
 * types become maps of type_unpacked() at its end. */
struct lower_loop {
	struct ir_stage *stage;
	int first; /* first stage of the body */
	expr turn;
	int buffers, sizes, demands; /* counts of the program before the loop */
};
struct lower_loop lower_loop_begin(struct lower *l, expr trip);
/* Drops the loop and everything lowered since it began; none of that may be used any more. */
void lower_loop_drop(struct lower *l, const struct lower_loop *loop);
/* A state over s, `init` before the first turn. Make states before the stages that use them. */
struct value lower_carry(struct lower *l, struct lower_loop *loop, const char *name, enum type t, const struct space *s,
                         expr init);
/* Sets the state of the next turn, of the same type and extents. */
void lower_next(struct lower *l, struct lower_loop *loop, struct value state, struct value next);
/* The values of `from` in all turns, at position `at` of a new first axis of `extent`. */
struct value lower_collect(struct lower *l, struct lower_loop *loop, const char *name, expr at, expr extent,
                           struct value from);
/* The expression `e` of the loop's body, in turn `turn`. */
expr lower_at_turn(const struct lower_loop *loop, expr e, expr turn);
/* Sets the number of turns if the body decides it; call it before lower_collect(). */
void lower_trip(struct lower *l, struct lower_loop *loop, expr trip);
/* Ends the loop when `cond` is false: a bool without axes, of states. */
void lower_while(struct lower *l, struct lower_loop *loop, expr cond);
void lower_loop_end(struct lower *l, struct lower_loop *loop);

/* A constant in the program. */
struct value lower_data(struct lower *l, const char *name, const struct tensor *t);

/* Sets output i of the node. If v is an input or already an output, a copy is made. */
void lower_output(struct lower *l, int i, struct value v);
/* True if the node lists output i under a name. */
bool lower_wants(struct lower *l, int i);

#endif
