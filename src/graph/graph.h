/* A whole model: types, extents and known values of every tensor, which nodes can be taken, the regions that become
 * plugins, and the rewritten model. Operators are known through lower_node() alone: inference is lowering each node
 * into a scratch program, folding is interpreting that program. A graph that is an attribute of a node (a body) is a
 * struct graph of its own inside the one that has the node.
 *
 * All extents are expressions in one pool, over symbols that are the model's dim_param names (made identifiers) or d0,
 * d1
 * ... for extents without a name. Nothing here prints; what cannot be taken has a sentence. A graph belongs to one
 * thread at a time. */
#ifndef TPAT_GRAPH_GRAPH_H
#define TPAT_GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "ir/ir.h"
#include "onnx/onnx.h"
#include "ops/lower/op.h"
#include "tensor/tensor.h"

/* ---- Building ----------------------------------------------------------------- */

/* One extent: a symbol, or where that is null a number. */
struct graph_dim {
	const char *symbol;
	int64_t value;
};
/* What `--shape x:Nx3xHxW` says of one input of the model. */
struct graph_shape {
	const char *name;
	int rank;
	struct graph_dim dim[IR_MAX_RANK];
};
/* An input of the model that is treated as a constant. The tensor must outlive the graph. */
struct graph_bound {
	const char *name;
	const struct tensor *tensor;
};
struct graph_options {
	int shapes, bounds;
	const struct graph_shape *shape;
	const struct graph_bound *bound;
	const struct engine *engine; /* that the model is for; null: the usual one */
};

struct graph;
struct graph_node;

struct graph_value {
	const char *name;
	enum type type;        /* TYPE_NONE: unknown, or no dense tensor */
	int rank;              /* -1: unknown */
	expr dim[IR_MAX_RANK]; /* of type index, over symbols */
	const expr *content;   /* small tensors whose elements are known expressions over symbols: integers and bool
	                        * as type index, floats in their own type; row-major. Or null */
	int producer, output;  /* node of the same graph, and which of its outputs; -1: none */
	struct graph_value *outside; /* in a body: the value of the graph around it that this name means; else null */
	struct {
		VEC(int);
	} consumers;                    /* nodes, ascending, each once */
	bool captured;                  /* a graph in a node's attributes takes it from outside */
	bool is_input, is_output;       /* of the graph; an initializer that IR < 4 lists as input is no input */
	bool is_constant;               /* its value is known: graph_constant() gives it */
	Onnx__TensorProto *initializer; /* or null */
	const struct tensor *constant;  /* once loaded, folded or bound; use graph_constant() */
	bool asked;                     /* its content are symbols of its own: numbers that decide extents */
};

struct graph_node {
	int index; /* in its graph */
	Onnx__NodeProto *proto;
	const char *label;                   /* what a user calls it: see graph_node_find() */
	const struct op_def *op;             /* null: a local function, or unknown */
	const Onnx__FunctionProto *function; /* a call of a local function, or null */
	int opset;                           /* of the operator's domain */
	struct {
		VEC(struct graph_value *);
	} reads;     /* its inputs, and then what the graphs in its attributes take from outside: each once */
	bool known;  /* tpat can take it */
	bool folded; /* all its outputs are constants */
	struct {
		VEC(const char *);
	} sizes;                  /* symbols of the sizes that it finds out at run time, in the order of making */
	const char *why, *advice; /* when not known: a sentence without the node's name; what to do, or null */
	enum err_code code;       /* when not known: ERR_UNSUPPORTED or ERR_MODEL */
	struct {
		VEC(struct graph *);
	} bodies; /* the graphs in its attributes, in their order */
};

struct graph {
	struct arena *arena; /* of the main graph and all bodies */
	struct onnx_model *model;
	struct onnx_index *index;    /* of this graph */
	struct ir_pool *pool;        /* of all graphs */
	const struct engine *engine; /* that the model is for */
	struct graph *root;          /* the main graph, which has what all graphs share; its own root */
	struct graph *outer;         /* the graph around a body; null: this is the main graph */
	int holder;                  /* the node of `outer` that has this body as an attribute */
	int number;                  /* in root->graphs */
	const char *name;            /* what a user calls it, "choose/then_branch"; "" for the main graph */
	struct {
		VEC(struct graph_node);
	} nodes; /* as the model has them */
	struct {
		VEC(struct graph_value *);
	} values, inputs, outputs;  /* in the model's order; inputs without initializers and bound ones */
	struct map by_name;         /* private: values */
	const char *numbers, *path; /* private: `name` by indices, "#12/then_branch"; of a body, see graph_scope.path */
	/* Of the root alone: */
	struct {
		VEC(struct graph *);
	} graphs; /* the main graph and all bodies, each before those inside of it */
	struct {
		VEC(const char *);
	} symbols, warnings; /* symbols of inputs; sentences */
	struct {
		VEC(struct ir_demand);
	} demands;                        /* of the main graph's nodes, over the model's symbols; some hold by now */
	struct map meaning, origin, used; /* private: dim_param -> expr; symbol -> dim_param; names taken */
	struct map asked, node_names;     /* private: symbols of values; how many nodes of all graphs have a name */
	int fresh, found, values_asked;   /* private: counts of names given */
};

/* Types, extents and known values of the whole model, which must be checked (onnx_model_check) and outlive the graph:
 * the main graph, with all bodies in out->graphs. A body's inputs are what its node hands it; where the node cannot be
 * taken, what the model declares. A node that cannot be lowered stops nothing: it has a `why`, and what needs its
 * results gets one too. Freed with graph_free(), of the main graph. `o` may be null. Errors: ERR_USAGE for a shape or a
 * constant that names no input or does not fit it. */
int graph_new(struct graph **out, struct onnx_model *m, const struct graph_options *o, struct err *e);
void graph_free(struct graph *g); /* null is fine */

/* Of this graph, and in a body also what it takes from outside. Null when there is none; "" too. */
struct graph_value *graph_value_find(const struct graph *g, const char *name);
/* The value of a constant (is_constant) of this graph, loaded when first asked for. Errors: as onnx_tensor_load(). */
int graph_constant(const struct tensor **out, struct graph *g, struct graph_value *v, struct err *e);
/* "f32[N,3,H,W]", "f32[?]" of unknown rank, "?" of unknown type. */
void graph_value_print(struct str *out, const struct graph_value *v);
/* Fails with the node's `why`, as a whole sentence with the node's name, when it cannot be taken. */
int graph_node_check(const struct graph *g, int node, struct err *e);
/* Whether anything needs what the node makes: an output of the graph, or a node whose results are not constants. */
bool graph_node_used(const struct graph *g, int node);
/* Whether anything needs what the graph makes: always for the main graph; for a body, whether its node is used, is no
 * node of constants, and is in such a graph itself. */
bool graph_used(const struct graph *g);

/* The node of any graph of the model that `text` means, and its graph. A node's label is its name, or "#12" in the main
 * graph where it has none or shares it with others. In a body it is the name, where no other node of the model has it,
 * or else "choose/then_branch/NAME" or "choose/then_branch/#3": the label of the node that holds the body, the
 * attribute, and the name or the index in that graph. `text` is a node of the main graph as onnx_node_find() takes it;
 * a label; such a path for any node of a body, also with indices alone ("#12/then_branch/#3"); or the name of a node of
 * a body, or of a tensor that it makes, where there is one alone. Errors: ERR_USAGE, with the labels when several have
 * the name. */
int graph_node_find(struct graph **in, int *node, struct graph *root, const char *text, struct err *e);

/* ---- What the engine takes by itself ----------------------------------------------------------------- */

/* From the engine, by the node and its element types. Of a node with bodies it says nothing of their nodes, which are
 * asked for themselves. `reason`: a sentence, "" for yes. */
enum engine_support graph_support(struct graph *g, int node, const char **reason);
/* The first input or output of a node that is of a type that no plugin can have, or null. Constants travel inside. */
const struct graph_value *graph_misfit(const struct graph *g, int node);

/* ---- What no plugin can be ----------------------------------------------------------------- */

/* Strings, sequences, optional values, maps ...: refused.def is the list. */
enum graph_refusal_kind {
#define KIND(kind, title, subject, reason) GRAPH_REFUSED_##kind,
#define REFUSED(domain, op, kind, what, way_out)
#include "graph/refused.def"
#undef KIND
#undef REFUSED
};
struct graph_refusal {
	const char *domain, *op; /* domain "": ai.onnx */
	enum graph_refusal_kind kind;
	const char *what;    /* "it makes a sequence" */
	const char *way_out; /* sentences */
};
const struct graph_refusal *graph_refusals(void);                                   /* op null ends the list */
const struct graph_refusal *graph_refusal_find(const char *domain, const char *op); /* or null */
const char *graph_refusal_title(enum graph_refusal_kind kind);                      /* "Sequences" */
/* "TensorRT has no strings, so no plugin can take it" */
const char *graph_refusal_reason(enum graph_refusal_kind kind, const struct engine *engine, struct arena *a);

/* ---- Selection ----------------------------------------------------------------- */

struct graph_region {
	struct graph *graph; /* that has its nodes */
	const char *label;   /* the node's, or "first..last": for messages */
	struct {
		VEC(int);
	} nodes; /* ascending */
	struct {
		VEC(struct graph_value *);
	} inputs, /* what a plugin reads at run time, in the order of first use: also weights of more than 64 elements;
	           * then tensors that only have an extent which sizes inside depend on */
	        outputs,   /* what is used outside, in the order of the nodes */
	        constants; /* known values of up to 64 elements, which become part of the program */
	int shapes;        /* the last so many inputs are read for their values alone, which decide extents */
	bool folded;       /* all outputs are constants: becomes initializers and needs no plugin */
};
struct graph_regions {
	VEC(struct graph_region *);
};

/* One `--region A,B,C`: nodes of one graph, as graph_node_find() takes them. */
struct graph_region_names {
	int n;
	const char *const *name;
};
struct graph_selection {
	int names, types, regions, excepts;
	const char *const *name; /* nodes, as graph_node_find() takes them: one region each */
	const char *const *type; /* op types, "domain.Type" outside of ai.onnx: one region a node */
	const struct graph_region_names *region;
	const char *const *except; /* nodes that `type` and `automatic` pass over */
	bool automatic;            /* nodes that the engine refuses and that tpat can take */
};

/* The regions of a selection, in the order of their graphs and first nodes, without a node twice; `g` is the main
 * graph. Explicit regions come first to a node that several options name. A node that is taken takes its bodies along:
 * `type` and `automatic` pass over nodes inside of it, and naming such a node is an error. `automatic` looks into the
 * bodies of nodes that the engine takes. In graph's arena. Errors: ERR_USAGE for names that are not there, or a region
 * that is not convex (says which node would mend it); ERR_UNSUPPORTED, with the reason, for a named node that cannot be
 * taken, and when a type has no node that can. Nothing selected is no error: the caller says it. */
int graph_select(struct graph_regions *out, struct graph *g, const struct graph_selection *s, struct err *e);

/* One region of these nodes of the graph (any order). Errors as above. */
int graph_region_new(struct graph_region **out, struct graph *g, const int *node, int n, struct err *e);

/* ---- Programs ----------------------------------------------------------------- */

struct graph_program_options {
	bool any_types;  /* do not refuse the element types that the engine lacks */
	bool keep_types; /* tensors stay of their types at the edge; else they become what the engine takes there */
	bool sizes;      /* behind the outputs: each size that their extents mention and the region finds out, a
	                  * scalar i64; see graph_region_sizes() */
	bool unfused;    /* each node's stages stay apart, where a fused program cannot be compiled */
	ir_dump_fn dump; /* as in ir_optimise(); or null */
	void *dump_user;
};

/* Symbols of sizes that the region finds out at run time and that extents of its outputs mention, in the order in which
 * a plugin has them as outputs behind the others. */
struct graph_names {
	VEC(const char *);
};
struct graph_names graph_region_sizes(const struct graph_region *r);

/* The region as one optimised program in `a`: its inputs and outputs are the region's, in their order
 * (behind them, sizes). Symbols are those
 * of the inputs' extents; extents that are not plain symbols and follow from no other input get names n0, n1 ... `o`
 * may be null. Not for folded regions. Errors: ERR_UNSUPPORTED for types that the engine lacks, or a size that no input
 * gives. */
int graph_region_program(struct ir_program **out, const struct graph_region *r, const struct graph_program_options *o,
                         struct arena *a, struct err *e);

/* The type at a plugin's edge of a tensor of type `t`; `o` may be null. */
enum type graph_edge_type(const struct graph *g, enum type t, const struct graph_program_options *o);

/* ---- Rewrite ----------------------------------------------------------------- */

/* What a region becomes. Regions with equal programs (ir_hash) may have the same name, and then share a function. */
struct graph_plugin {
	const char *name;       /* op_type; of folded regions null */
	const int *shape_input; /* indices of the inputs that are read for their values */
	int shape_inputs;
};
struct graph_rewrite_options {
	const char *const *name_space; /* of each region's plugin; null, also of one: "" */
	bool keep_types;               /* as in graph_program_options */
};
#define GRAPH_PLUGIN_DOMAIN "tpat"
#define GRAPH_PLUGIN_VERSION "1"

/* Replaces each region by one node of domain "tpat" in its graph, in place, with the replaced nodes as a local function
 * of the model; plugin[i] belongs to r->at[i]. `g` is the main graph. Inputs and outputs of all graphs stay as they
 * are. Constants that nothing reads any more go away. Afterwards `g` describes what was: only free it. Errors:
 * ERR_USAGE when a name is taken or regions need each other's results both ways; then the model is unchanged. */
int graph_rewrite(struct graph *g, const struct graph_regions *r, const struct graph_plugin *plugin,
                  const struct graph_rewrite_options *o, struct err *e);

/* Takes away the local functions of plugins: for engines that take a function before the plugin of its name. */
void graph_drop_functions(struct onnx_model *m);

#endif
