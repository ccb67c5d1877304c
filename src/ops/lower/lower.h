/* How an operator's lower function reads its node and builds its stages. Everything an operator file includes.
 *
 * An index space has up to IR_MAX_RANK axes: struct space holds their extents and the index expressions (AXIS nodes).
 * Arithmetic is done in a compute type: wide() loads f16, bf16 and fp8 as f32, and 8- and 16-bit integers as i32;
 * narrow() brings the result back to the element type. */
#ifndef TPAT_OPS_LOWER_H
#define TPAT_OPS_LOWER_H

#include "ops/lower/op.h"

/* ---- One attribute as the model has it; filled by graph/ from the node. */
struct attr_value {
	const char *name;
	enum op_attr_kind kind;
	int64_t i;
	double f;
	const char *s;
	int n; /* OP_INTS, OP_FLOATS, OP_STRINGS */
	const int64_t *ints;
	const double *floats;
	const char *const *strings;
	const struct tensor *tensor;
	const void *graph; /* OP_GRAPH: the caller's own; see lower_graph() */
};

struct value {
	struct ir_buffer *buf; /* null when not given */
	bool given;
	struct ir_pool *pool; /* filled by lower_node() */
};

/* The graph that an OP_GRAPH attribute holds: how many formal inputs and outputs it has, and their names in the
 * model. */
struct lower_body {
	int inputs, outputs;
	const char *const *input, *const *output;
};
/* What whoever knows the model does for operators with graphs; see lower_graph(). */
struct lower_bodies {
	void (*describe)(struct lower_body *out, struct lower *l, const struct attr_value *v);
	int (*lower)(struct lower *l, const struct attr_value *v, const struct value *in, struct value *out);
	/* May give the input buffer a content: symbols for elements that are known when the program is launched. */
	void (*ask)(struct lower *l, struct ir_buffer *b);
};

/* A branch of an If whose nodes are lowered, and are computed whether it is taken or not. */
struct lower_branch {
	expr taken; /* a bool over symbols; null: data decides */
};

/* One node being lowered into a program. The caller fills the first part; lower_node() runs the operator. */
enum { LOWER_MAX_TENSORS = 256 }; /* inputs or outputs of a node */
struct lower {
	struct ir_program *program;
	struct err *err;
	const struct op_def *op;
	int opset;                /* of the operator's domain */
	const char *label;        /* of the node, for messages */
	const char *const *names; /* of its inputs, in the model; may be null */
	const char *name;         /* of its first result: the node's alone, in the rewritten model too; may be null */
	int inputs, outputs;      /* as the node lists them */
	struct value input[LOWER_MAX_TENSORS]; /* not given: an empty name */
	bool wanted[LOWER_MAX_TENSORS];        /* outputs that have a name */
	int attrs;
	const struct attr_value *attr;
	const struct lower_bodies *bodies; /* null: there are no attributes of kind OP_GRAPH */
	const void *scope;                 /* for `bodies`: the caller's own */
	const struct lower_branch *branch; /* that the node stands in; null: it is run whenever the program is */
	const struct lower_branch *inner;  /* that a graph of the node is lowered as; null: the node's own */
	struct {
		VEC(struct ir_demand);
	} held; /* what the node demands inside of a branch: see lower_demand_release() */
	struct value output[LOWER_MAX_TENSORS]; /* results */
	struct map settled;                     /* pairs of extents of which a demand has been made: lower_demand.c */
	bool partial; /* after a failure: the results that were made have the right types and extents */
	enum type type_only[LOWER_MAX_TENSORS]; /* after a failure: the types of results of which nothing else is
	                                         * known */
	bool random; /* they are drawn: nothing may take them for known, though nothing feeds them */
};

/* Checks inputs, attributes and types against the op_def (arity, required ones, allowed types and words), runs it, and
 * checks that every wanted output was made. */
int lower_node(struct lower *l);

/* ---- Failures: the node's label, operator and opset are put in front. */
int lower_fail(struct lower *l, enum err_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- Inputs. Optional ones may be absent: .given is false. Beyond the node's list: not given. */
struct value lower_input(struct lower *l, int i);
enum type value_type(struct value v);
int value_rank(struct value v);
expr value_dim(struct value v, int axis);
expr value_count(struct value v); /* product of all extents */

/* An integer input whose values decide shapes (axes, sizes, pads, repeats ...): its elements as expressions of type
 * index, from a constant, or from shape arithmetic over symbols. Fails with ERR_UNSUPPORTED and advice when they are
 * not known at build time. A scalar gives n = 1. */
struct exprs {
	int n;
	expr at[64];
};
int lower_known(struct lower *l, int i, struct exprs *out);
/* The same of extents: an input of the graph that is not known has symbols for elements, which are not negative. An
 * operator for which a negative number, or a zero, means something else does not take them. */
int lower_extents(struct lower *l, int i, struct exprs *out);
/* As lower_known(), but all must be plain numbers. */
struct ints {
	int n;
	int64_t at[64];
};
int lower_known_ints(struct lower *l, int i, struct ints *out);
/* Whether a bool of one element is known at build time, and then what it is. */
bool lower_known_bool(struct value v, bool *holds);
/* The value of an input when it is a constant, else null. */
const struct tensor *lower_constant(struct lower *l, int i);

/* ---- Attributes, with the default of the op_def. Absent lists have n = 0. */
bool lower_has(struct lower *l, const char *name);
int64_t lower_int(struct lower *l, const char *name);
double lower_float(struct lower *l, const char *name);
const char *lower_word(struct lower *l, const char *name);
struct ints lower_ints(struct lower *l, const char *name);
/* Lists of any length: the count. */
int lower_floats(struct lower *l, const char *name, const double **at);
int lower_int_list(struct lower *l, const char *name, const int64_t **at);
int lower_strings(struct lower *l, const char *name, const char *const **at);
const struct tensor *lower_tensor(struct lower *l, const char *name);
const struct attr_value *lower_attr(struct lower *l, const char *name); /* null when absent */
/* Operators that moved an attribute to an input: the attribute when the node has it, else input `i` when given (plain
 * numbers); *given says whether either was there. */
int lower_ints_or_input(struct lower *l, const char *attr, int i, struct ints *out, bool *given);
/* A negative axis counts from the end. Fails when outside -rank..rank-1 (rank itself is allowed with `end`). */
int lower_axis(struct lower *l, int64_t axis, int rank, bool end, int *out);

/* ---- Graphs, the attributes of kind OP_GRAPH. */
/* What `attr` takes and gives. Fails when the node does not have it. */
int lower_body(struct lower *l, const char *attr, struct lower_body *out);
/* Lowers the nodes of the graph into l->program, at this place, with in[i] as its formal input number i (any buffers of
 * the program; not given: the input has no value). Names that the graph takes from around it are bound already. out[i]
 * is output number i: a buffer that the graph made, or one that it handed on. The numbers must be the graph's own; else
 * it is an error of the model. May be called several times: every call lowers the nodes again. */
int lower_graph(struct lower *l, const char *attr, int inputs, const struct value *in, int outputs, struct value *out);
/* The same of a graph without inputs that is run only where `taken` holds, a bool over symbols; null: data decides. */
int lower_graph_branch(struct lower *l, const char *attr, expr taken, int outputs, struct value *out);

/* ---- Constants and expressions. Short names: operator files are formulas. */
expr num(struct lower *l, enum type t, double x); /* of type t, float or integer */
expr idx(struct lower *l, int64_t x);             /* of type index */
expr add(expr a, expr b);
expr sub(expr a, expr b);
expr mul(expr a, expr b);
expr divide(expr a, expr b); /* DIV: floats, or integers toward zero */
expr floordiv(expr a, expr b);
expr mod(expr a, expr b);
expr rem_(expr a, expr b);
expr min_(expr a, expr b);
expr max_(expr a, expr b);
expr pow_(expr a, expr b);
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
expr clamp(expr x, expr low, expr high); /* min_(max_(x, low), high): NaN stays */
expr addi(expr a, int64_t c);            /* with a constant of a's type; the others alike */
expr muli(expr a, int64_t c);
expr ceildiv(expr a, expr b); /* of index */
expr with(expr a, double c);  /* constant c in a's type */

enum type compute_type(enum type t);     /* f16 -> f32, i8 -> i32 ...; others themselves */
expr wide(expr a);                       /* cast to the compute type of its type */
expr narrow(expr a, enum type to);       /* cast back; the name says why */
enum type accumulator_type(enum type t); /* of sums: floats f32 or f64; integers the compute type */

/* ---- Index spaces. */
struct space {
	int rank;
	expr dim[IR_MAX_RANK];
	expr at[IR_MAX_RANK]; /* AXIS nodes */
};
struct space space_of(struct lower *l, struct value v); /* v's own */
struct space space_new(struct lower *l, int rank, const expr *dim);
expr space_push(struct lower *l, struct space *s, expr extent); /* one more axis behind; gives its index */
/* numpy broadcasting of n values' shapes; extents that are not known to be equal are compared at run time. */
int space_broadcast(struct lower *l, struct space *out, int n, const struct value *v);

/* ---- Extents that an operator demands of each other: of axis i of a and axis j of b, inputs of the node or tensors
 * that it made. What cannot be decided here becomes a demand of the program, which is checked before it runs. */
int lower_demand(struct lower *l, enum ir_relation r, struct value a, int i, struct value b, int j);
/* Two extents that must be equal; *out is the one to go on with: a constant, or the simpler expression. */
int lower_same(struct lower *l, struct value a, int i, struct value b, int j, expr *out);
/* The same, where only the demand matters. */
int lower_equal(struct lower *l, struct value a, int i, struct value b, int j);
/* Nothing is to be demanded of an axis of extent `dim` that is read `extent` elements far: the operator's own
 * conditions keep its reads inside. */
void lower_settle(struct lower *l, expr dim, expr extent);
/* The same of an axis and a number that follows from other extents. */
int lower_demand_extent(struct lower *l, enum ir_relation r, expr extent, struct value b, int j);
/* The same of two numbers that have names: "heads of the key". `first` may be null. */
int lower_demand_of(struct lower *l, enum ir_relation r, const char *first, expr a, const char *second, expr b);
/* An axis whose extent must be a multiple of n, as where it is split into n parts. */
int lower_demand_multiple(struct lower *l, struct value v, int i, int64_t n);
/* The index into axis i of v for the index `at` into axis j of `of`, where v has one element for all, or one for each:
 * 0 or `at`, also where the extent is known only at run time. */
int lower_one_or_each(struct lower *l, struct value v, int i, struct value of, int j, expr at, expr *out);
/* The element of a scale or zero point v for the index `at` into axis j of `of`: v is a scalar, or has one axis with
 * one element for all, or one for each. */
int lower_parameter(struct lower *l, struct value v, struct value of, int j, expr at, expr *out);
/* Inside: what the stages from number `first` on read over extents that are not the buffers' own becomes a demand,
 * too. */
int lower_demand_reads(struct lower *l, int first);
/* Inside: a branch that is not taken demands nothing. What its node demanded becomes a demand for the case that the
 * branch is taken, where symbols decide that, and is dropped else; and no read or write of the stages from number
 * `first` on relies on it: outside of a tensor they give zero, or do nothing. Sorts cannot be guarded so, and keep
 * their demands. */
int lower_demand_release(struct lower *l, int first);
int lower_demand_broadcast(struct lower *l, int n, const struct value *v, int axis, expr whole);

/* ---- Elements. */
expr load(struct value v, const expr *index);                  /* rank indices */
expr load_list(struct value v, int n, ...);                    /* the same, listed */
expr at(struct value v, const struct space *s);                /* at the space's own index, broadcast (aligned right) */
expr at_axis(struct value v, const struct space *s, int axis); /* the same, v's first axis being the space's `axis` */
/* The first n indices of v, broadcast: its axes 0..n-1 are the space's from `axis` on. */
void index_axes(struct value v, int n, const struct space *s, int axis, expr *index);
expr at_first(struct value v);           /* the only element of a scalar, or of a tensor of one element */
expr at_flat(struct value v, expr flat); /* at a row-major position */
void unflatten(expr flat, int rank, const expr *dim, expr *index);
expr flatten(struct lower *l, int rank, const expr *dim, const expr *index);
/* An index from a tensor: negative counts from the end; held inside 0..extent-1, so that bad data never faults. */
expr wrap_index(expr i, expr extent);

/* ---- Stages. `name` may be null: the operator's next output, or a temporary's. Extents are the first `rank` of s. */
struct value lower_map(struct lower *l, const char *name, enum type t, const struct space *s, expr value);
/* out over s's first `rank` axes; the other axes of s are reduced. `post` is over those first axes and
 * ir_acc(pool, acc_type); null: cast to t. The accumulator's type is value's type. */
struct value lower_reduce(struct lower *l, const char *name, enum type t, const struct space *s, int rank,
                          enum ir_combine c, expr value, expr post);
expr acc(struct lower *l, enum type t);
/* A last step that one operator adds to another one's result: from y, its element over `out` in the compute type, the
 * value that is stored. */
typedef int (*lower_finish)(struct lower *l, const struct space *out, expr y, expr *result);
/* Running c of value along `axis`, over s: up to each position, that one included unless `exclusive`; `reverse`: from
 * the end. `post` is over s and the accumulator, of value's type; null: cast to t. */
struct value lower_scan(struct lower *l, const char *name, enum type t, const struct space *s, int axis,
                        enum ir_combine c, bool exclusive, bool reverse, expr value, expr post);
/* init over `out`; updates over s (its own axes 0..rank-1): out[at...] = combine(out, value) where `where` holds (or
 * null). */
struct value lower_scatter(struct lower *l, const char *name, enum type t, const struct space *out, expr init,
                           const struct space *s, enum ir_combine c, const expr *at, expr value, expr where);
/* Where along `axis` the element is found that comes at each place of the stable order of value, ascending or
 * descending: t is i32 or i64. `s` has the result's axes, and behind them the axis that value runs over along
 * `axis`. */
struct value lower_sort(struct lower *l, const char *name, enum type t, const struct space *s, int axis,
                        bool descending, expr value);
/* The values at those points of s, in row-major order, where `where` holds: one axis, whose extent is a new size, known
 * only at run time; *count, when asked for, is that number, a scalar i64. */
struct value lower_compact(struct lower *l, const char *name, enum type t, const struct space *s, expr value,
                           expr where, struct value *count);

/* A loop of `trip` turns. Between begin and end, what is lowered is its body; there `turn` is the index of the turn.
 *   struct lower_loop loop = lower_loop_begin(l, steps);
 *   struct value h = lower_carry(l, &loop, "h", TYPE_F32, &space, at(h0, &space));
 *   struct value g = lower_map(l, "g", ... at(h, &space) ... loop.turn ...);
 *   lower_next(l, &loop, h, g);
 *   struct value y = lower_collect(l, &loop, NULL, loop.turn, steps, g);
 *   lower_loop_end(l, &loop);
 * Behind it, h is the last state, and y is there to be read. Loops may stand in each other. What is narrower than a
 * byte is carried and collected as type_unpacked() of its type: to be cast back where it is read. */
struct lower_loop {
	struct ir_stage *stage;
	int first; /* stage of the body */
	expr turn;
	int buffers, sizes, demands; /* of the program, before the loop */
};
struct lower_loop lower_loop_begin(struct lower *l, expr trip);
/* Forgets the loop and all that was lowered since it began; nothing of that may be used any more. */
void lower_loop_drop(struct lower *l, const struct lower_loop *loop);
/* A state, over s, that is `init` before the first turn. States come before what is lowered with them. */
struct value lower_carry(struct lower *l, struct lower_loop *loop, const char *name, enum type t, const struct space *s,
                         expr init);
/* The state of the next turn: of the same type and extents. */
void lower_next(struct lower *l, struct lower_loop *loop, struct value state, struct value next);
/* `from` of each turn, one behind the other along a first axis of `extent`: at position `at`. */
struct value lower_collect(struct lower *l, struct lower_loop *loop, const char *name, expr at, expr extent,
                           struct value from);
/* `e` of the loop's body in the turn `turn`. */
expr lower_at_turn(const struct lower_loop *loop, expr e, expr turn);
/* The number of turns, once the body told it: before what is collected. */
void lower_trip(struct lower *l, struct lower_loop *loop, expr trip);
/* Turns go on only while `cond` holds: a bool without axes, of states. */
void lower_while(struct lower *l, struct lower_loop *loop, expr cond);
void lower_loop_end(struct lower *l, struct lower_loop *loop);

/* A constant in the program. */
struct value lower_data(struct lower *l, const char *name, const struct tensor *t);

/* Output i of the node is `v`. When v is an input or already an output, a copying map is made. */
void lower_output(struct lower *l, int i, struct value v);
bool lower_wants(struct lower *l, int i);

#endif
