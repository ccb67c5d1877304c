/* Declarations that only the files of src/graph/ share. */
#ifndef TPAT_GRAPH_GRAPH_INTERNAL_H
#define TPAT_GRAPH_GRAPH_INTERNAL_H

#include <stdio.h>

#include "eval/eval.h"
#include "graph/graph.h"
#include "ops/lower/lower.h"

enum {
	GRAPH_MAX_DEPTH = 32,     /* of nested calls of local functions */
	GRAPH_CONTENT_MAX = 256,  /* elements of a tensor whose content is tracked as expressions */
	GRAPH_SMALL = 64,         /* elements of a constant that becomes part of a program */
	GRAPH_DATA_MAX = 4096,    /* elements of a constant that is computed at once, so that operators can read it */
	GRAPH_FOLD_MAX = 1 << 20, /* elements of the largest constant that is folded */
};

/* Nodes being lowered one after another into one program: those of the main graph, of a function's body, or of a body
 * graph that is an attribute. */
struct graph_scope {
	struct graph *g;
	struct ir_program *program;
	struct err *err;
	struct map buffers;                  /* struct ir_buffer by the tensor's name */
	const Onnx__FunctionProto *function; /* the function that holds these nodes, also those in its bodies; null: the
	                                        model */
	const struct map *attributes;        /* of the function's call: struct graph_bound_attr by name */
	int depth;
	const Onnx__GraphProto *body; /* null: the main graph, or a function's own nodes */
	struct map *inputs;           /* of the program while a node is inferred: graph_value by buffer; else null */
	struct map *formals; /* while a node is inferred: its bodies' edges, struct graph_formals by graph; null in
	                        nested graphs and functions */
	struct map *types; /* enum type by name, for results of the inferred node of which only the type is known; null
	                      in nested graphs and functions */
	const struct graph_scope *outer;   /* of a body: the scope of names that it does not define */
	const char *path;                  /* names of the calls and graphs that lead here, without plugins */
	bool random;                       /* something lowered here draws random numbers */
	const struct lower_branch *branch; /* the branch of an If that is lowered; null: none */
};
struct graph_scope graph_scope_new(struct graph *g, struct ir_program *p, struct err *e);

/* An input of a body, as its node passes it in. */
struct graph_formal {
	enum type type;                /* TYPE_NONE: not given */
	int rank;                      /* -1: it differs between turns */
	expr dim[IR_MAX_RANK];         /* of the program; null: it differs between turns */
	const struct ir_buffer *state; /* of the loop around the body, whose next value the body computes: `dim` holds
	                                  for the first turn; null: not a state, as in an unrolled loop */
	bool turns;                    /* it was such a state in some turn */
};
/* A body's edges, as its node was lowered: one formal for each input, and each output's buffer in the last turn (null:
 * the body was not lowered to its end). */
struct graph_formals {
	struct graph_formal *in;
	const struct ir_buffer **out;
};

/* An attribute, and the scope of the names in its graph, which differs if a function's call passes the graph in. */
struct graph_bound_attr {
	const Onnx__AttributeProto *proto; /* null: not given */
	const struct graph_scope *scope;
};
struct graph_bound_attr graph_attr_resolve(const struct graph_scope *s, const Onnx__AttributeProto *a);
/* Target of attr_value.graph. */
struct graph_body {
	const Onnx__GraphProto *graph;
	const struct graph_scope *scope;
};
extern const struct lower_bodies graph_bodies;

/* Finds the buffer of a name in this scope or an outer one; null if there is no name, or the caller omits the
 * parameter. */
int graph_find_buffer(struct ir_buffer **out, const struct graph_scope *s, const char *name, const char *label);
/* Lowers a call of a local function: its body in place of the node. */
int graph_lower_call(struct graph_scope *s, const Onnx__NodeProto *call, const Onnx__FunctionProto *f,
                     const char *label);
/* Adds a constant buffer with this tensor's elements to the program. The tensor must outlive the program. */
struct ir_buffer *graph_constant_buffer(struct ir_program *p, const char *name, const struct tensor *t);

/* Lowers one node: finds its inputs in s->buffers and puts its outputs there. `label` names it in messages. */
int graph_lower(struct graph_scope *s, const Onnx__NodeProto *node, const char *label);
/* Returns a unique name of a node that is the same in the given and in the rewritten model, where a plugin's function
 * surrounds it: the calls that lead to it, then its first result. */
const char *graph_lasting_name(const struct graph_scope *s, const Onnx__NodeProto *node);
/* Returns the opset version of a domain for the nodes of this scope. */
int graph_scope_opset(const struct graph_scope *s, const char *domain);

/* Converts the node's attributes for lower_node(), and resolves references to a function's attributes. */
int graph_attributes(const struct attr_value **out, int *n, const struct graph_scope *s, const Onnx__NodeProto *node,
                     const char *label);

/* Records the known contents of small buffers that the program's stages from index `first` on define. Buffers of
 * numbers get data, too. Both are only used while lowering. */
void graph_note_contents(struct ir_program *p, int first);

/* Returns the number of elements; -1 if an extent is not a number, or there are too many. */
int64_t graph_count(int rank, const expr *dim);

/* Sets type and extents as the model declares them (value_info); false if it declares nothing. */
bool graph_value_declare(struct graph *g, struct graph_value *v, const Onnx__ValueInfoProto *info);
struct graph_value *graph_value_new(struct graph *g, const char *name);
/* Returns the symbol of a dim_param; graph_symbol_fresh(): a new one for an extent without a name. */
expr graph_symbol(struct graph *g, const char *param);
/* Returns an extent's name, or null, also for the "?" that exporters write: two of those need not be equal. */
const char *graph_dim_name(const Onnx__TensorShapeProto__Dimension *d);
expr graph_symbol_fresh(struct graph *g);
/* True if the tensor of this value is small enough to be part of a program. */
bool graph_is_small(const struct graph_value *v);
/* An integer constant whose elements along its only long axis are first + i / repeats % period * step
 * (graph_progression.c). Returns false for other values, and for small ones whose elements all differ. */
struct graph_progression {
	int axis;
	int64_t first, step, repeats, period;
};
bool graph_progression_of(struct graph *g, struct graph_value *v, struct graph_progression *out);

/* Infers types, extents and contents of one node's outputs, and of everything in its bodies. */
void graph_infer_node(struct graph *g, struct graph_node *n);
/* Replaces symbols of the model's inputs by numbers (int64_t, by name). */
void graph_fix_symbols(struct graph *g, const struct map *fixed);
/* graph_new.c: adds the nodes and outputs of a graph that has its inputs, initializers and captured values. */
void graph_take_initializers(struct graph *g);
void graph_take_nodes(struct graph *g);
/* graph_subgraph.c: adds the bodies of a node that was lowered in `s`, and infers them. */
void graph_take_bodies(struct graph *g, struct graph_node *n, const struct graph_scope *s);
/* Counts the nodes of each name, in this graph and all graphs inside it. */
void graph_count_names(struct map *out, const Onnx__GraphProto *p);
const char *graph_node_label(const struct graph *g, int node);

/* Adds input buffers for a node that is alone in its program, and for outer values that its bodies read. Constants of
 * at most `data_max` elements get their data. A value of unknown shape gets no buffer: perhaps no lowered body reads
 * it. */
int graph_add_inputs(struct graph_scope *s, const struct graph_node *n, int64_t data_max);
int graph_add_input(struct graph_scope *s, struct graph_value *v, int64_t data_max); /* of known shape */
/* Fails, and says why there is no buffer for this value. */
int graph_shape_unknown(const struct graph *g, const struct graph_value *v, struct err *e);
/* Makes the outputs of a node that was lowered in `s` constants, if all its inputs are known. graph_fold_run() computes
 * large ones later, when graph_constant() needs them. */
void graph_fold(struct graph_scope *s, const struct graph_node *n);
int graph_fold_run(struct graph *g, int node, struct err *e);

/* graph_ask.c: gives symbols to an input's elements if a plugin can get their values before it is launched. */
void graph_ask(struct lower *l, struct ir_buffer *b);
/* True if an expression over the graph's symbols mentions such a symbol. */
bool graph_is_asked(struct graph *g, expr e);

/* graph_work.c: notes what the stages of a node do that was lowered alone in the program. */
void graph_note_work(struct graph *g, struct graph_node *n, const struct ir_program *p);
/* graph_rounds.c: notes to what its stages round. */
void graph_note_rounding(struct graph_node *n, const struct ir_program *p);
/* graph_work.c: true for a node that needs a kernel of the engine's, unless that fuses it with arithmetic around it. */
bool graph_fast_seed(const struct graph_node *n);

/* graph_demand.c: takes over the constraints on extents of a node that was lowered alone in the program. */
void graph_take_demands(struct graph *g, const struct graph_node *n, const struct ir_program *p);

/* graph_size.c: gives the sizes of the program, in which the node was lowered alone, symbols of the graph. */
void graph_size_symbols(struct graph *g, struct graph_node *n, const struct ir_program *p);
/* Rewrites an expression of that program in the graph's symbols. */
expr graph_size_rename(struct graph *g, const struct graph_node *n, const struct ir_program *p, expr e);
/* Nodes at the end of a function. graph_size_output() adds those that compute the size `symbol`, a scalar i64, from the
 * results of the region's nodes. */
struct graph_function_body {
	VEC(Onnx__NodeProto *);
};
int graph_size_output(struct graph *g, const struct graph_region *r, const char *symbol,
                      struct graph_function_body *body, const char **out, struct err *e);
/* Add one or two nodes that make a constant: a tensor, a scalar i64. */
int graph_tensor_node(struct graph *g, struct graph_function_body *body, const struct tensor *t, const char *as,
                      struct err *e);
int graph_constant_node(struct graph *g, struct graph_function_body *body, const char *name, int64_t value,
                        const char **out, struct err *e);

/* graph_between.c: returns the nodes between the selection's tensors, ascending, and their graph. */
int graph_between(struct graph **in, int **node, int *n, struct graph *root, const struct graph_selection *s,
                  struct err *e);

/* graph_pattern.c: calls `add` with the nodes of each place where the pattern of that name, or of that ONNX file,
 * occurs, from the last node to the first. Places may overlap. Errors: ERR_USAGE for an unknown name; what `add`
 * returns. */
typedef int (*graph_match_fn)(void *user, struct graph *g, const int *node, int n);
int graph_matches(struct graph *root, const char *name, graph_match_fn add, void *user, struct err *e);

/* graph_join_select.c: joins the nodes in `seed` with what connects them cheaply, and adds the regions to `out`.
 * `owner`: for each node the number of the region that has it already, or -1. `blocked`: nodes that stay with the
 * engine. */
int graph_join_regions(struct graph_regions *out, struct graph *g, const bool *seed, const int *owner,
                       const bool *blocked, const struct graph_rates *rates, struct err *e);

/* The same, for nodes that the engine may run as well; `fast`: no node is adopted. */
int graph_join_seeds(struct graph_regions *out, struct graph *g, const bool *seed, const int *owner,
                     const bool *blocked, bool fast, const struct graph_rates *rates, struct err *e);

/* graph_join_select.c: the estimated time of nodes (ascending) that the engine runs. */
double graph_engine_ns(struct graph *g, const int *node, int n, const struct graph_rates *rates);

/* graph_fast.c: adds regions of two or more nodes that the engine supports, see graph_selection.fast. */
int graph_join_fast(struct graph_regions *out, struct graph *g, const int *owner, const bool *blocked,
                    const struct graph_rates *rates, struct err *e);

/* graph_exchange.c: the nodes of a function that make the exchanged form of a value, and that make the value of it. */
int graph_exchange_write(struct graph *g, struct graph_function_body *body, const struct graph_value *v,
                         const char *out, struct err *e);
int graph_exchange_read(struct graph *g, struct graph_function_body *body, const struct graph_value *v, const char *in,
                        struct err *e);

/* graph_turned.c: a Transpose node that makes a turned constant of what a plugin reads. */
Onnx__NodeProto *graph_turn_back_new(struct onnx_model *m, const struct graph_value *v, const char *in);

/* Moves shape inputs after the others, and counts them. */
void graph_region_order(struct graph_region *r);
/* Notes which nodes are used, once all of the graph's nodes are known (graph_region.c). */
void graph_note_used(struct graph *g);
/* Adds the folded nodes that dequantise weights of sums of integers (graph_restore.c). They are the only folded nodes
 * of a region that is not folded. */
void graph_restore(struct graph *g, struct graph_region *r);
/* Returns an extent that a size in the region depends on and that no input has, or null. */
const char *graph_region_missing(const struct graph_region *r);

/* Fails for an unknown operator, and says what to do, and why if no plugin can run it. */
int graph_refuse_operator(const struct graph *g, const Onnx__NodeProto *node, const char *label, struct err *e);
/* Fails, and says what to do, if the model declares that the value is not a dense tensor. */
int graph_refuse_value(const struct graph *g, const char *name, struct err *e);

/* Makes a local function of a region's nodes, with the plugin's inputs and outputs. */
Onnx__FunctionProto *graph_function_new(const struct graph_region *r, const char *name,
                                        const struct graph_program_options *o, struct err *e);
/* Makes a Cast node for the model's opset, not yet in a graph. */
Onnx__NodeProto *graph_cast_new(struct onnx_model *m, const char *in, const char *out, enum type t);
/* Makes a name for a tensor that is converted to this type at a plugin's edge: "mask_int32". */
const char *graph_edge_name(const struct graph *g, const struct graph_value *v, enum type type);
/* True if the converted tensor needs nodes of its own before the cast back, as bodies read it: graph_apart_new() makes
 * them. */
bool graph_needs_apart(const struct graph *g, const struct graph_value *v);
void graph_apart_new(struct onnx_model *m, Onnx__NodeProto *node[2], const char *in, const char *out);

#endif
