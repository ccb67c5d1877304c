/* What the files of src/graph/ share. Nobody else includes this. */
#ifndef TPAT_GRAPH_GRAPH_INTERNAL_H
#define TPAT_GRAPH_GRAPH_INTERNAL_H

#include <stdio.h>

#include "eval/eval.h"
#include "graph/graph.h"
#include "ops/lower/lower.h"

enum {
	GRAPH_MAX_DEPTH = 32,     /* of local functions that call each other */
	GRAPH_CONTENT_MAX = 256,  /* elements of a tensor whose content is followed as expressions */
	GRAPH_SMALL = 64,         /* elements of a constant that becomes part of a program */
	GRAPH_DATA_MAX = 4096,    /* elements of a constant whose value operators can look at, and that is computed at
	                           * once */
	GRAPH_FOLD_MAX = 1 << 20, /* elements of a constant that is computed at all */
};

/* Nodes being lowered one after another into one program: those of the main graph, of a function's body, or of a body
 * graph that is an attribute. */
struct graph_scope {
	struct graph *g;
	struct ir_program *program;
	struct err *err;
	struct map buffers;                  /* struct ir_buffer by the tensor's name */
	const Onnx__FunctionProto *function; /* whose nodes these are, also those of body graphs inside; null: the
	                                        model's */
	const struct map *attributes;        /* of the function: what the call gives, struct graph_bound_attr by name */
	int depth;
	const Onnx__GraphProto *body; /* null: the main graph, or a function's own nodes */
	struct map *inputs;           /* of the program while a node is inferred: graph_value by buffer; else null */
	struct map *formals; /* while a node is inferred: its bodies' edges, struct graph_formals by graph; null
	                      * in graphs and functions inside */
	struct map *types;   /* of the results of the node that is inferred, where nothing else is known: an
	                      * enum type by name; null in graphs and functions inside */
	const struct graph_scope *outer;   /* of a body: where the names are that it does not define */
	const char *path;                  /* names of the calls and graphs that lead here, but not of plugins */
	bool random;                       /* something lowered here draws random numbers */
	const struct lower_branch *branch; /* of an If, that this is lowered for; null: none */
};
struct graph_scope graph_scope_new(struct graph *g, struct ir_program *p, struct err *e);

/* An input of a body as the node that holds it hands it on. */
struct graph_formal {
	enum type type;                /* TYPE_NONE: not given */
	int rank;                      /* -1: it differs from turn to turn */
	expr dim[IR_MAX_RANK];         /* of the program; null: it differs from turn to turn */
	const struct ir_buffer *state; /* of the loop around the body, which makes its next value: `dim` holds for the
	                                * first turn; null: it is none, as where the loop is unrolled */
	bool turns;                    /* it was such a state at some time */
};
/* A body's edges as its node was lowered: one formal for each input, and the buffer of each output in the last turn
 * (null: the body was not lowered to its end). */
struct graph_formals {
	struct graph_formal *in;
	const struct ir_buffer **out;
};

/* An attribute, and the scope that the names in its graph belong to: a function's call may hand a graph in. */
struct graph_bound_attr {
	const Onnx__AttributeProto *proto; /* null: not given */
	const struct graph_scope *scope;
};
struct graph_bound_attr graph_attr_resolve(const struct graph_scope *s, const Onnx__AttributeProto *a);
/* What attr_value.graph points to. */
struct graph_body {
	const Onnx__GraphProto *graph;
	const struct graph_scope *scope;
};
extern const struct lower_bodies graph_bodies;

/* The buffer of a name in this scope or those around it; null when it is not given: no name, or a parameter that the
 * caller leaves out. */
int graph_find_buffer(struct ir_buffer **out, const struct graph_scope *s, const char *name, const char *label);
/* Lower a call of a local function: its body in place of the node. */
int graph_lower_call(struct graph_scope *s, const Onnx__NodeProto *call, const Onnx__FunctionProto *f,
                     const char *label);
/* A constant buffer of the program with this tensor's elements, which must live as long as the program. */
struct ir_buffer *graph_constant_buffer(struct ir_program *p, const char *name, const struct tensor *t);

/* Lower one node; its inputs are in s->buffers already, its outputs are put there. `label` names it in messages. */
int graph_lower(struct graph_scope *s, const Onnx__NodeProto *node, const char *label);
/* What names a node alone, in the given model and in the rewritten one alike (there a plugin's function stands around
 * it): its first result, behind the calls that lead to it. */
const char *graph_lasting_name(const struct graph_scope *s, const Onnx__NodeProto *node);
/* The version of a domain's operators that a node in this scope means. */
int graph_scope_opset(const struct graph_scope *s, const char *domain);

/* The node's attributes as lower_node() wants them; those that refer to a function's attributes are resolved. */
int graph_attributes(const struct attr_value **out, int *n, const struct graph_scope *s, const Onnx__NodeProto *node,
                     const char *label);

/* Contents of small buffers that the program's stages from number `first` on define, as far as they are known. Those
 * that are numbers get data too; both serve lowering alone. */
void graph_note_contents(struct ir_program *p, int first);

/* A tensor of the elements `content` (numbers, of any type); false when some are no numbers. */
bool graph_content_tensor(struct tensor *out, enum type t, int rank, const expr *dim, const expr *content,
                          struct arena *a);

/* Elements by the extents; -1 when they are not all numbers, or too many. */
int64_t graph_count(int rank, const expr *dim);

/* Types and extents from what the model says (value_info); false when it says nothing. */
bool graph_value_declare(struct graph *g, struct graph_value *v, const Onnx__ValueInfoProto *info);
struct graph_value *graph_value_new(struct graph *g, const char *name);
/* The symbol of a dim_param, and a symbol of its own for an extent without one. */
expr graph_symbol(struct graph *g, const char *param);
/* An extent's name, or null: exporters write "?" for what they do not know, which says of no two extents that they
 * agree. */
const char *graph_dim_name(const Onnx__TensorShapeProto__Dimension *d);
expr graph_symbol_fresh(struct graph *g);
/* Whether the tensor of this value is small enough to be part of a program. */
bool graph_is_small(const struct graph_value *v);

/* Types, extents, contents of one node's outputs, and of all that its bodies hold. */
void graph_infer_node(struct graph *g, struct graph_node *n);
/* graph_new.c: the nodes of a graph whose inputs, initializers and captured values are there, and its outputs. */
void graph_take_initializers(struct graph *g);
void graph_take_nodes(struct graph *g);
/* graph_subgraph.c: the bodies of a node that was lowered in `s`, all inferred. */
void graph_take_bodies(struct graph *g, struct graph_node *n, const struct graph_scope *s);
/* How often each name of a node is there, in this graph and all inside of it. */
void graph_count_names(struct map *out, const Onnx__GraphProto *p);
const char *graph_node_label(const struct graph *g, int node);

/* Input buffers of a node that is alone in its program, also for what its graphs take from outside; constants of up to
 * `data_max` elements get their data. What has no known shape gets a buffer nowhere: it may be that no graph that is
 * lowered reads it. */
int graph_add_inputs(struct graph_scope *s, const struct graph_node *n, int64_t data_max);
/* Fails with why there is no buffer for this value. */
int graph_shape_unknown(const struct graph *g, const struct graph_value *v, struct err *e);
/* The node has been lowered in `s`: when all that it reads is known, its outputs become constants. Large ones are
 * computed by graph_fold_run(), when graph_constant() needs them. */
void graph_fold(struct graph_scope *s, const struct graph_node *n);
int graph_fold_run(struct graph *g, int node, struct err *e);

/* graph_ask.c: an input's elements get symbols, when they can be numbers that a plugin is told before it is
 * launched. */
void graph_ask(struct lower *l, struct ir_buffer *b);
/* Whether an expression over the graph's symbols mentions such a one. */
bool graph_is_asked(struct graph *g, expr e);

/* graph_demand.c: what the node, which was lowered alone in the program, demands of extents. */
void graph_take_demands(struct graph *g, const struct graph_node *n, const struct ir_program *p);

/* graph_size.c: gives the sizes of the program, in which the node was lowered alone, their symbols in the graph. */
void graph_size_symbols(struct graph *g, struct graph_node *n, const struct ir_program *p);
/* An expression of that program with the graph's symbols. */
expr graph_size_rename(struct graph *g, const struct graph_node *n, const struct ir_program *p, expr e);
/* Nodes of a function, at its end, that make the size `symbol`, a scalar i64, of what the region's nodes make. */
struct graph_function_body {
	VEC(Onnx__NodeProto *);
};
int graph_size_output(struct graph *g, const struct graph_region *r, const char *symbol,
                      struct graph_function_body *body, const char **out, struct err *e);
/* A scalar i64 constant, from one node or two. */
int graph_constant_node(struct graph *g, struct graph_function_body *body, const char *name, int64_t value,
                        const char **out, struct err *e);

/* Puts inputs that are read for their values alone behind the others, and counts them. */
void graph_region_order(struct graph_region *r);
/* The extent that a size inside of the region depends on and that none of its inputs has, or null. */
const char *graph_region_missing(const struct graph_region *r);

/* Fails, with what to do: of an operator that is not there, with the reason when no plugin can be it. */
int graph_refuse_operator(const struct graph *g, const Onnx__NodeProto *node, const char *label, struct err *e);
/* Fails, with what to do, when the model declares that the value is no dense tensor. */
int graph_refuse_value(const struct graph *g, const char *name, struct err *e);

void graph_warn(struct graph *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A local function that holds a region's nodes: inputs and outputs as the plugin has them. */
Onnx__FunctionProto *graph_function_new(const struct graph_region *r, const char *name,
                                        const struct graph_program_options *o, struct err *e);
/* A Cast node for the model's opset; not yet in a graph. */
Onnx__NodeProto *graph_cast_new(struct onnx_model *m, const char *in, const char *out, enum type t);
/* A name for the form that a tensor has at a plugin's edge, of this type: "mask_int32". */
const char *graph_edge_name(const struct graph *g, const struct graph_value *v, enum type type);
/* Between the edge's form of a tensor that graphs take from outside and the cast back. */
bool graph_needs_apart(const struct graph *g, const struct graph_value *v);
Onnx__NodeProto *graph_apart_new(struct onnx_model *m, const char *in, const char *out);

#endif
