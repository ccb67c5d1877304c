/* A whole model: types, extents and known values of every tensor, the nodes that tpat supports, the regions that become
 * plugins, and the rewritten model. Operators are known through lower_node() alone: inference lowers each node into a
 * scratch program, folding interprets that program. A body (a graph that is an attribute of a node) is a struct graph
 * of its own, inside the graph of that node.
 *
 * All extents are expressions in one pool, over symbols: the model's dim_param names (made identifiers), or d0, d1 ...
 * for extents without a name. Nothing here prints; an unsupported node carries a sentence that says why. One thread at
 * a time may use a graph. */
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

/* One extent: a symbol, or a number if that is null. */
struct graph_dim {
	const char *symbol;
	int64_t value;
};
/* The shape that `--shape x:Nx3xHxW` gives one input of the model. */
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
	const struct engine *engine; /* target of the model; null: the default one */
	const char *version;         /* of the engine, as its users write it; null: the default one */
	bool engine_ranks; /* ranks as the engine's parser decides them, before extents are known: a Squeeze without
	                      axes leaves axes of open extent. Else such a node is unsupported */
	bool take_apart;   /* graph_open() puts the nodes of an unsupported call, If or Loop in its place wherever the
	                      function, the branch or the number of turns is known */
};

struct graph;
struct graph_node;

/* The work of a node's stages, for estimates. */
enum graph_work {
	GRAPH_MAPS,    /* compute or move elements: they fuse with their neighbours. Or nothing at run time */
	GRAPH_ROWS,    /* combine, order or search elements */
	GRAPH_PRODUCT, /* sum products of two tensors, or repeat other stages */
};

struct graph_value {
	const char *name;
	enum type type;        /* TYPE_NONE: unknown, or no dense tensor */
	int rank;              /* -1: unknown */
	expr dim[IR_MAX_RANK]; /* of type index, over symbols */
	const expr *content;   /* elements of a small tensor, if all are known expressions over symbols; row-major;
	                          integers and bool as type index, floats in their own type. Else null */
	const expr *some;      /* the same of integers if only some are known, with null for the others; else null */
	int producer, output;  /* node of the same graph, and the index of the output; -1: none */
	struct graph_value *outside; /* in a body: the value of the graph around it that this name means; else null */
	struct {
		VEC(int);
	} consumers;                    /* nodes, ascending, each once */
	bool captured;                  /* a body inside this graph reads it */
	bool is_input, is_output;       /* of the graph; excludes inputs that declare initializers */
	bool is_constant;               /* its value is known: graph_constant() returns it */
	Onnx__TensorProto *initializer; /* or null */
	const struct tensor *constant;  /* once loaded, folded or bound; use graph_constant() */
	enum type exchanged;            /* the type of its bits between plugins, if only plugins write and read it: see
	                                   graph_exchange(); else TYPE_NONE */
	const int *turned;              /* of a constant: its axes in the order in which plugins read it, see
	                                   graph_turn(); null: their own */
	const struct tensor *in_order;  /* private: a turned constant with its axes in that order, or null */
	bool asked;                     /* its elements have symbols of their own: numbers that decide extents */
};

struct graph_node {
	int index; /* in its graph */
	Onnx__NodeProto *proto;
	const char *label;                   /* its name for users: see graph_node_find() */
	const struct op_def *op;             /* null: a local function, or unknown */
	const Onnx__FunctionProto *function; /* the local function that it calls, or null */
	int opset;                           /* of the operator's domain */
	struct {
		VEC(struct graph_value *);
	} reads;              /* its inputs, then the outer values that its bodies read: each once */
	bool known;           /* tpat supports it */
	bool folded;          /* all its outputs are constants */
	bool used;            /* see graph_node_used() */
	enum graph_work work; /* if known */
	bool moves;           /* of maps: reads elements at other places than its result's */
	enum type rounds;     /* if known: the coarsest float type to which it rounds; TYPE_NONE: it computes exactly */
	struct {
		VEC(expr);
	} points; /* extents whose product is the number of its multiply-adds; none: it makes no product */
	struct {
		VEC(const char *);
	} sizes;                  /* symbols of the sizes that it computes at run time, in that order */
	const char *why, *advice; /* if not known: a sentence without the node's name; what to do, or null */
	enum err_code code;       /* if not known: ERR_UNSUPPORTED or ERR_MODEL */
	const char *reported;     /* why the engine refuses it, whatever its table says; null: the table decides. May be
	                             set after graph_new() */
	struct {
		VEC(struct graph *);
	} bodies; /* the graphs in its attributes, in their order */
};

/* A node that graph_open() replaced by others, or dropped. */
struct graph_replaced {
	const char *label, *op;
	int nodes; /* in its place; the first one has those of all */
};

struct graph {
	struct arena *arena; /* of the main graph and all bodies */
	struct onnx_model *model;
	struct onnx_index *index;    /* of this graph */
	struct ir_pool *pool;        /* of all graphs */
	const struct engine *engine; /* target of the model */
	const struct engine_version *version;
	struct graph *root;  /* the main graph, which holds everything that graphs share; its own root */
	struct graph *outer; /* the graph around a body; null: this is the main graph */
	int holder;          /* the node of `outer` whose attribute this body is */
	int number;          /* in root->graphs */
	const char *name;    /* its name for users, "choose/then_branch"; "" for the main graph */
	struct {
		VEC(struct graph_node);
	} nodes; /* in the model's order */
	struct {
		VEC(struct graph_value *);
	} values, inputs, outputs;  /* in the model's order; inputs without initializers and bound ones */
	struct map by_name;         /* private: values */
	const char *numbers, *path; /* private: `name` by indices, "#12/then_branch"; of a body, see graph_scope.path */
	/* Only the root has these: */
	struct {
		VEC(struct graph *);
	} graphs; /* the main graph and all bodies, outer before inner */
	struct {
		VEC(const char *);
	} symbols, warnings; /* symbols of inputs; sentences */
	struct {
		VEC(struct ir_demand);
	} demands; /* of the main graph's nodes, over the model's symbols; some are already satisfied */
	struct {
		VEC(struct graph_replaced);
	} replaced;                       /* by graph_open() */
	int nodes_before;                 /* nodes of all graphs before that; 0: nothing was replaced */
	bool rewritten;                   /* graph_open() changed the model */
	struct map meaning, origin, used; /* private: dim_param -> expr; symbol -> dim_param; names taken */
	struct map asked, node_names;     /* private: symbols of values; number of nodes of all graphs by name */
	struct map fixed;                 /* private: symbols of inputs that must be numbers -> expr */
	bool engine_ranks;                /* private: of the options */
	bool fixed_late;                  /* private: after a node whose result depends on whether it is known */
	int fresh, found, values_asked;   /* private: numbers of names given */
};

/* Infers types, extents and known values of the whole model, which must be checked (onnx_model_check) and outlive the
 * graph. Returns the main graph, with all bodies in out->graphs. A body's inputs get the shapes that its node passes
 * in, or the declared ones if the node is unsupported. A node that cannot be lowered is not an error: it and its
 * dependents have a `why`. Free the main graph with graph_free(). `o` may be null. Errors: ERR_USAGE for a shape or a
 * constant that names no input or does not fit it. */
int graph_new(struct graph **out, struct onnx_model *m, const struct graph_options *o, struct err *e);
void graph_free(struct graph *g); /* null is fine */
/* The same, of a model whose sequences and optional values are resolved first, in place, wherever their lengths are
 * known: plain nodes replace those that make and read them, branches of a known condition and loops of few turns are
 * taken apart, and functions that pass sequences on are put in place of their calls. What cannot be resolved stays.
 * With `take_apart`, the same with other calls, branches and loops that are not supported as they are. */
int graph_open(struct graph **out, struct onnx_model *m, const struct graph_options *o, struct err *e);
/* True if the model has nodes that make or read sequences or optional values. */
bool graph_has_sequences(struct onnx_model *m);

/* Finds a value of this graph, or of a graph around it that a body reads. Null if there is none, also for "". */
struct graph_value *graph_value_find(const struct graph *g, const char *name);
/* Returns the value of a constant (is_constant) of this graph, loaded on first use; the graph owns it. Errors: as
 * onnx_tensor_load(). */
int graph_constant(const struct tensor **out, struct graph *g, struct graph_value *v, struct err *e);
/* "f32[N,3,H,W]", "f32[?]" of unknown rank, "?" of unknown type. */
void graph_value_print(struct str *out, const struct graph_value *v);
/* Fails if the node is unsupported, with its `why` as a whole sentence that names the node. */
int graph_node_check(const struct graph *g, int node, struct err *e);
/* True if anything needs the node's results: an output of the graph, or a used node whose results are not constants. */
bool graph_node_used(const struct graph *g, int node);
/* The coarsest float type to which the value, or one that it is computed from, is rounded; TYPE_NONE: none. */
enum type graph_rounded(const struct graph *g, const struct graph_value *v);
/* Marks the used nodes of this graph that are not supported although all that they read can be computed: those that
 * keep the nodes after them from running. Returns one flag per node, in `a`. */
bool *graph_stuck(const struct graph *g, struct arena *a);
/* True if anything needs the graph's results: always for the main graph; for a body, if its node is used, is not
 * folded, and is in a used graph itself. */
bool graph_used(const struct graph *g);

/* Finds the node that `text` selects in any graph of the model, and its graph. A node's label is its name, or "#12" in
 * the main graph if it has no unique name. In a body it is the name if no other node of the model has it, else
 * "choose/then_branch/NAME" or "choose/then_branch/#3": the label of the node that holds the body, the attribute, and
 * the name or the index in that graph. `text` may be: a node of the main graph as onnx_node_find() takes it; a label;
 * such a path for any node of a body, also with indices alone ("#12/then_branch/#3"); or the unique name of a body's
 * node or of its output. Errors: ERR_USAGE, with the labels if several match. */
int graph_node_find(struct graph **in, int *node, struct graph *root, const char *text, struct err *e);

/* ---- Nodes that the engine supports itself ----------------------------------------------------------------- */

/* Asks the engine whether it supports the node with its element types. Ignores the nodes of its bodies: ask for each of
 * them. `reason`: a sentence, "" for yes. */
enum engine_support graph_support(struct graph *g, int node, const char **reason);
/* True if the engine refuses the node only because it reads a tensor of another refused node, of a type or with a
 * number of axes that the engine lacks: that node is the cause. */
bool graph_follows(struct graph *g, int node);
/* True if a plugin can have the value as an input or output: its type and number of axes. Constants become part of the
 * program. */
bool graph_fits_edge(const struct graph *g, const struct graph_value *v);
/* Returns the first input or output of a node that no plugin can have, or null. */
const struct graph_value *graph_misfit(const struct graph *g, int node);

/* ---- Operators that no plugin can run ----------------------------------------------------------------- */

/* Strings, sequences, optional values, maps ...: listed in refused.def. */
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
const struct graph_refusal *graph_refusals(void);                                   /* ends with a null op */
const struct graph_refusal *graph_refusal_find(const char *domain, const char *op); /* or null */
const char *graph_refusal_title(enum graph_refusal_kind kind);                      /* "Sequences" */
/* "TensorRT has no strings, so no plugin can take it" */
const char *graph_refusal_reason(enum graph_refusal_kind kind, const struct engine *engine, struct arena *a);

/* ---- Selection ----------------------------------------------------------------- */

struct graph_region {
	struct graph *graph; /* graph of the nodes */
	const char *label;   /* the node's, or "first..last"; for messages */
	struct {
		VEC(int);
	} nodes; /* ascending */
	struct {
		VEC(struct graph_value *);
	} inputs, /* tensors that a plugin reads at run time, in the order of first use, including weights of more than
	             64 elements of types that the engine has; then tensors of which only an extent is needed, for
	             sizes inside */
	        outputs,    /* results used outside, in the order of the nodes */
	        constants;  /* known values that are part of the program: of at most 64 elements, and weights of types
	                       that the engine lacks */
	int shapes;         /* number of shape inputs, the last ones: read only for values that decide extents */
	bool folded;        /* all outputs are constants: they become initializers, without a plugin */
	bool joined;        /* chosen by `automatic` with rates. Then: */
	int refused;        /* nodes that the engine refuses */
	double apart_ns;    /* estimated time with one plugin for each of these, and the engine for the other nodes */
	double together_ns; /* estimated time as one plugin */
	bool fast;          /* chosen by `fast`: the engine runs all its nodes, in `kernels` kernels of its own */
	int kernels;        /* 0: unknown */
};
struct graph_regions {
	VEC(struct graph_region *);
};

/* Rates for estimates of whole regions. */
struct graph_rates {
	double bytes_per_ns, launch_ns;
	double plugin_work[TYPE_COUNT], engine_work[TYPE_COUNT]; /* multiply-adds per nanosecond, by the product's type;
	                                                            0: unknown */
	int64_t (*extent)(void *user, expr e);                   /* the value of an extent */
	void *user;
};

/* One `--region A,B,C`: nodes of one graph, as graph_node_find() takes them. */
struct graph_region_names {
	int n;
	const char *const *name;
};
struct graph_selection {
	int names, types, regions, excepts;
	const char *const *name; /* nodes, as graph_node_find() takes them: one region each */
	const char *const *type; /* op types, "domain.Type" outside of ai.onnx: one region for each node */
	const struct graph_region_names *region;
	int froms, tos;
	const char *const *from, *const *to; /* tensors of one graph: a region of all nodes that follow from `from`
	                                 (none: from anything) and that `to` follows from (none: that anything follows
	                                 from) */
	int patterns;
	const char *const *pattern;      /* names of patterns.def, or ONNX files: a region wherever one occurs */
	bool all;                        /* every node of the main graph that tpat supports; needs `rates` */
	const char *const *except;       /* nodes that `type` and `automatic` skip */
	bool automatic;                  /* nodes that the engine lacks and tpat supports */
	bool fast;                       /* with `rates`: also chains of other nodes that one plugin may run in fewer
	                                    kernels than the engine; the caller decides which of these are worth it */
	const struct graph_rates *rates; /* with `automatic` and `all`: join these nodes with what connects them
	                                    cheaply; null: one region for each */
};

/* Returns the regions of a selection, in the order of their graphs and first nodes; each node is in at most one. `g` is
 * the main graph. If several options name a node, explicit regions win. A selected node includes its bodies: `type` and
 * `automatic` skip the nodes inside, and naming one is an error. `automatic` looks into the bodies of nodes that the
 * engine supports. Memory comes from the graph's arena. Errors: ERR_USAGE for unknown names, or a region that is not
 * convex (names the node to add); ERR_UNSUPPORTED, with the reason, for a named node that is unsupported, or a type
 * without a supported node. An empty selection is not an error. */
int graph_select(struct graph_regions *out, struct graph *g, const struct graph_selection *s, struct err *e);

/* True if the engine runs all nodes of the region itself, as a part of a kernel that it needs anyway: a plugin can only
 * lose. */
bool graph_region_loses(const struct graph_region *r);

/* Estimates the kernels that the engine runs for a region of nodes that it supports: writes the number of each node's
 * kernel, in the order of the region's nodes, and returns how many there are. The engine fuses arithmetic with one
 * reduction, and runs a kernel for each move of elements. The nodes of a kernel are convex. */
int graph_engine_kernels(const struct graph_region *r, int *kernel);

/* Cuts a joined region in two, without nodes that neither part needs; a part without a refused node is left out. Adds
 * the parts to `out`. Returns their number; 0 if the region has only one node. */
int graph_region_cut(struct graph_regions *out, const struct graph_region *r, const struct graph_rates *rates);

/* Makes one region of these nodes of the graph, in any order. Errors as above. */
int graph_region_new(struct graph_region **out, struct graph *g, const int *node, int n, struct err *e);
/* For regions that become plugins together, before their programs are made: a tensor of which one region needs only an
 * extent, and which is inside another one, becomes a result of that other one. */
void graph_regions_settle(const struct graph_regions *regions);
bool graph_region_has(const struct graph_region *r, int node);

/* ---- Programs ----------------------------------------------------------------- */

struct graph_program_options {
	bool any_types;  /* accept element types that the engine lacks */
	bool keep_types; /* keep the tensors' types at the edge; else convert them to types that the engine has */
	const struct engine_layout *layout; /* tensors that can have this format are stored in it; null: row-major */
	bool in_place; /* outputs may have the memory of inputs that only the region reads: ir_buffer.replaces */
	bool sizes;    /* add an output after the others, a scalar i64, for each size in graph_region_sizes() */
	bool numbered; /* name tensors and symbols by numbers, so that equal programs of several nodes have equal texts
	                */
	bool unfused;  /* do not fuse stages: for a program whose fused kernels do not compile */
	ir_dump_fn dump; /* as in ir_optimise(); or null */
	void *dump_user;
};

/* Symbols of the sizes that the region computes at run time and that its outputs' extents mention. A plugin returns
 * them in this order, after its other outputs. */
struct graph_names {
	VEC(const char *);
};
struct graph_names graph_region_sizes(const struct graph_region *r);

/* True if an input or output of a plugin can have a format. Constants stay row-major. */
bool graph_has_layout(const struct graph *g, const struct graph_value *v, const struct engine_layout *l,
                      const struct graph_program_options *o);
/* True if a region's program can be built for a format: some tensor can have it, and the channels of all that can are a
 * constant extent. */
bool graph_region_has_layout(const struct graph_region *r, const struct engine_layout *l,
                             const struct graph_program_options *o);

/* True if the engine's own convolutions make this tensor, or read it if `after`: directly, or through nodes that leave
 * channels where they are and so can run in the convolutions' format. `taken`: nodes of plugins, which do not count. */
bool graph_meets_convolution(const struct graph *g, const struct graph_value *v, bool after, const bool *taken);

/* Builds the region as one optimised program in `a`. Its inputs and outputs are the region's, in their order, then the
 * sizes. Its symbols are those of the inputs' extents; extents that are not plain symbols and follow from no other
 * input are named n0, n1 ... `o` may be null. Not for folded regions. Errors: ERR_UNSUPPORTED for types that the engine
 * lacks, or a size that follows from no input. */
int graph_region_program(struct ir_program **out, const struct graph_region *r, const struct graph_program_options *o,
                         struct arena *a, struct err *e);

/* Sets graph_value.exchanged of tensors that only plugins of these regions write and read. Call it for all regions of a
 * build before their programs are made. */
void graph_exchange(const struct graph_regions *r);
/* Sets graph_value.turned of weights that only this region reads and whose axes its kernels would put into another
 * order at each launch, if that gains. Call it before the region's program is made. */
struct graph_turning {
	const struct graph_program_options *options; /* of the program; without a dump */
	bool (*reorders)(struct ir_program *p, const struct ir_buffer *b, int *axis);   /* as sched_reorders() */
	double (*time)(void *user, const struct graph_region *r, struct ir_program *p); /* estimated, in nanoseconds */
	void *user;
	struct map *gains; /* what it knows about programs, by hash; empty at first */
};
void graph_turn(const struct graph_turning *x, const struct graph_region *r);
/* The value of a constant with its axes in the order in which programs read it; the graph owns it. */
int graph_turned(const struct tensor **out, struct graph *g, struct graph_value *v, struct err *e);
/* Returns the type that a tensor has at a plugin's edge; `o` may be null. */
enum type graph_edge_type(const struct graph *g, const struct graph_value *v, const struct graph_program_options *o);
/* Returns the number of its elements in one element at the edge, along the last axis: 1, but for packed types. */
int graph_edge_packs(const struct graph *g, const struct graph_value *v, const struct graph_program_options *o);

/* ---- Plain nodes ----------------------------------------------------------------- */

/* A node that the engine refuses, and that nodes which it supports may replace. */
struct graph_plain {
	struct graph *graph;
	int node;
	const char *label, *op;
	bool wanted; /* the caller may set it to false, never back */
	int nodes;   /* number of plain nodes in its place, once they are in the model */
};
struct graph_plains;
/* Finds all such nodes; memory comes from the graph's arena. All are wanted. `any`: also nodes that the engine
 * supports. */
struct graph_plains *graph_plains_new(struct graph *g, bool any);
struct graph_plain *graph_plains_list(struct graph_plains *x, int *n);
/* Puts plain nodes in place of those that are wanted into the model, and returns how many it replaced. The others have
 * none, or one of their neighbours has none, and are not wanted any more. The graph stays as it was and is out of date:
 * make another one of the model. */
int graph_plains_put(struct graph_plains *x);
/* Puts the replaced nodes back. */
void graph_plains_take_out(struct graph_plains *x);
/* Takes those off the list whose plain nodes the engine refuses in `now`, the graph made with them, and returns their
 * number: if there are any, take all out, and put the rest in again. */
int graph_plains_check(struct graph_plains *x, struct graph *now);
/* Drops constants that only replaced nodes read; then nothing can be put back. */
void graph_plains_finish(struct graph_plains *x);
/* Estimates a region's time as nodes of the engine alone, with the plain nodes that are in `now`. */
double graph_plains_ns(const struct graph_plains *x, const struct graph_region *r, struct graph *now,
                       const struct graph_rates *rates);

/* ---- Rewrite ----------------------------------------------------------------- */

/* The plugin that replaces a region. Regions with equal programs (ir_hash) may share a name, and then share a
 * function. */
struct graph_plugin {
	const char *name;       /* op_type; null for folded regions */
	const int *shape_input; /* indices of the shape inputs */
	int shape_inputs;
};
struct graph_rewrite_options {
	const char *const *name_space; /* of each region's plugin; null: "", also for a single one */
	bool keep_types;               /* as in graph_program_options */
};
#define GRAPH_PLUGIN_DOMAIN "tpat"
#define GRAPH_PLUGIN_VERSION "1"

/* Replaces each region by one node of domain "tpat" in its graph, in place. The replaced nodes become a local function
 * of the model; plugin[i] belongs to r->at[i]. `g` is the main graph. All graphs keep their inputs and outputs. Removes
 * constants that nothing reads any more. Afterwards `g` is out of date: only free it. Errors: ERR_USAGE if a name is
 * taken or two regions need each other's results; then the model is unchanged. */
int graph_rewrite(struct graph *g, const struct graph_regions *r, const struct graph_plugin *plugin,
                  const struct graph_rewrite_options *o, struct err *e);

/* Removes the local functions of plugins, for engines that prefer a function over the plugin of its name. */
void graph_drop_functions(struct onnx_model *m);

#endif
