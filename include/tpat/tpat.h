/* SPDX-License-Identifier: Apache-2.0 */
/* tpat.h: the library. Reads an ONNX model, makes CUDA kernels for chosen nodes, wraps them in a TensorRT plugin
 * library, and writes a model that uses it. The program `tpat` is a command line for this library.
 *
 * Threads: a context (struct tpat) belongs to one thread at a time. Calls with different contexts may run at the same
 * time, also on the same model, output or database: they wait for each other's locks. Comments at the calls say more,
 * after "Threads:". Calls read environment variables: do not change these while a call runs.
 *
 * Results are valid until the next call with the same context. Every call returns 0 or a negative enum tpat_code; then
 * tpat_error() is a complete sentence. The library prints nothing and leaves no file half-written.
 *
 * Start options structs from their initialiser (TPAT_BUILD_OPTIONS ...), so that members of later versions get
 * defaults. Lists of strings have a count; a null pointer is an empty list. */
#ifndef TPAT_H
#define TPAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TPAT_VERSION "0.1.0"
#define TPAT_API __attribute__((visibility("default")))

enum tpat_code {
	TPAT_OK = 0,
	TPAT_DIFFER = -1,      /* results differ */
	TPAT_USAGE = -2,       /* an option, or a path that cannot be written */
	TPAT_MODEL = -3,       /* the model file, or another input file, is wrong */
	TPAT_UNSUPPORTED = -4, /* valid, but not supported by tpat */
	TPAT_DEVICE = -5,      /* GPU, driver, NVRTC, C compiler, memory */
	TPAT_CANCELLED = -6,   /* a callback asked to stop */
};

struct tpat;
struct tpat_strings {
	const char *const *at;
	int n;
};

/* Returns null if memory runs out. Threads: any. */
TPAT_API struct tpat *tpat_new(void);
TPAT_API void tpat_free(struct tpat *t); /* null is fine. Threads: any, when no call with the context runs */
TPAT_API const char *tpat_version(void); /* the library's: TPAT_VERSION when it was built. Threads: any */

/* ---- Callbacks of long calls. */

enum tpat_log_level {
	TPAT_LOG_WARNING, /* also in the result */
	TPAT_LOG_NOTE,    /* a decision or a step: "tpat_softmax_1a2b.cu: compiled for sm_90" */
};

/* They must not use the context. May be null.
 *
 * `cancel` returns true to stop the running call, which then returns TPAT_CANCELLED and leaves no file. tpat_build(),
 * rebuild, report, verify, bench, tune, run and tpat_session_run() call it before each plugin, compilation, check,
 * measurement and piece of a model; tpat_tune() also a few times per second. A compilation that has begun is completed
 * first. Other calls are short and do not call it. tpat_tune() instead returns 0 with the best so far and
 * `interrupted`; tpat_verify() also gives the results so far. A callback `progress` in the options that returns true
 * does the same. Threads: any thread may call it, and several at once.
 *
 * `log` gets one line, without its end. Threads: any thread may call it, one at a time. */
struct tpat_callbacks {
	bool (*cancel)(void *user);
	void (*log)(void *user, enum tpat_log_level level, const char *text);
	void *user;
};

/* For later calls with the context, until the next tpat_set_callbacks(). The struct is copied; null: no callbacks. */
TPAT_API void tpat_set_callbacks(struct tpat *t, const struct tpat_callbacks *c);

/* The last failed call: what is wrong; where ("net.onnx: node conv1: ", may be ""); what to do (may be ""). */
TPAT_API const char *tpat_error(const struct tpat *t);
TPAT_API const char *tpat_error_where(const struct tpat *t);
TPAT_API const char *tpat_error_advice(const struct tpat *t);
/* The names of the file, node and tensor of that failure; "" if none. */
TPAT_API const char *tpat_error_file(const struct tpat *t);
TPAT_API const char *tpat_error_node(const struct tpat *t);
TPAT_API const char *tpat_error_tensor(const struct tpat *t);

/* ---- Listing a model. */

/* A node that plain nodes replace: no plugin is needed for it. */
struct tpat_plain_node {
	const char *node, *type; /* its label and operator */
	int nodes; /* number of nodes in its place. For a sequence, the first of its nodes has the count of all */
};

enum tpat_support { TPAT_TRT_NO, TPAT_TRT_PARTLY, TPAT_TRT_YES };

struct tpat_node {
	int index;         /* in its graph */
	const char *graph; /* "": the main graph; else the node that holds it and the attribute: "choose/then_branch" */
	const char *label; /* its name in options: the node's name, or "#12"; inside a subgraph its name or, if that is
	                      not unique, "choose/then_branch/NAME" or "choose/then_branch/#3" */
	const char *op_type, *domain; /* domain "": ai.onnx */
	int opset;
	const char *inputs, *outputs; /* "f32[N,3], f32[3]" */
	enum tpat_support tensorrt;   /* TensorRT's own support for it */
	const char *tensorrt_why;     /* a sentence, "" for yes */
	bool follows;                 /* TensorRT refuses it only because it reads a tensor of another refused node */
	bool taken;                   /* tpat supports it: by itself, or with the nodes around it, as --auto does */
	bool constant;                /* its results are known at build time */
	const char *why;              /* if no plugin can take it by itself: the reason, a sentence; else "" */
	const char *advice;           /* then: what to do, or "" */
	const char *after;            /* if not taken since tpat does not support an earlier node: its label; else "" */
};

/* The schedule of a program: its stages, in order, and each rule's verdict on them. */
struct tpat_rule {
	const char *name; /* "rows" */
	bool chosen, applies;
	double ns;              /* the cost model's estimate for its best choice, or the chosen one */
	int stages;             /* covered by this choice */
	int choices;            /* number of choices of the rule */
	const char *parameters; /* of that choice: "lanes=128 width=4 steps=2 once=1" */
	const char *why;        /* if it does not apply: a clause, "the stage is not a map" */
};
struct tpat_stage {
	const char *text;             /* "mean: f32[N,1] = sum (i, j | r<768) ..." */
	int made_with;                /* the stage whose choice covers it: its own number, or an earlier one */
	const struct tpat_rule *rule; /* the chosen one, then the applicable ones by estimate, then the others */
	int rules;                    /* 0 if an earlier stage's choice covers it */
};
struct tpat_schedule {
	const char *what; /* the node, or the plugin */
	const char *gpu;  /* the target GPU: "H100 SXM" */
	const struct tpat_stage *stage;
	int stages;
};

struct tpat_list {
	const char *model;
	int64_t ir_version, opset;                     /* of ai.onnx */
	struct tpat_strings inputs, outputs, warnings; /* "x: f32[N,3]" */
	const struct tpat_node *node;                  /* the main graph's, then those of each subgraph */
	int nodes;
	const struct tpat_schedule *const *why; /* for the nodes in the option `why` */
	int whys;
	const struct tpat_plain_node *replaced; /* nodes of sequences and optional values of known length: `node` has
	                                           what replaces them */
	int replacements;
};

struct tpat_list_options {
	int version;               /* TPAT_LIST_VERSION */
	const char *model;         /* path */
	struct tpat_strings shape; /* "x:1x3xHxW": an input's extents; "x:1x3,y:1x8": of several inputs */
	struct tpat_strings value; /* "sr=16000", "axes=1,2": inputs to make constant, in their own types */
	struct tpat_strings why;   /* nodes (name, "#12", an output's name) whose schedules to explain */
	const char *gpu;           /* target GPU of `why`: "H100 SXM", "native"; null: H100 SXM */
	const char *tensorrt;      /* list what this version supports: "8.6", "10.3", "rtx"; null: as measured with
	                              TensorRT-RTX 1.7, of the TensorRT 11 family */
	const char *engine_report; /* a log of trtexec, the ONNX parser or Polygraphy: nodes refused there are refused.
	                              Null: none */
};
enum { TPAT_LIST_VERSION = 4 };
#define TPAT_LIST_OPTIONS ((struct tpat_list_options){ .version = TPAT_LIST_VERSION })

/* Lists all nodes of a model and its subgraphs, with types, shapes and support. TPAT_MODEL if the model cannot be
 * read or is wrong; TPAT_USAGE for shapes, values or nodes that it does not have. Threads: starts none. */
TPAT_API int tpat_list(struct tpat *t, const struct tpat_list **out, const struct tpat_list_options *o);

/* ---- Building. */

struct tpat_progress {
	const char *stage; /* "read", "program", "compile", "write" */
	const char *what;  /* node, plugin or file */
	int done, all;
};

struct tpat_verified; /* tpat_verify.h */

struct tpat_build_options {
	int version;                  /* TPAT_BUILD_VERSION */
	const char *model;            /* path of the model; never overwritten */
	const char *output;           /* path of the rewritten model; null: MODEL_tpat.onnx next to the model */
	struct tpat_strings node;     /* nodes: name, "#12", or the name of an output. One plugin each */
	struct tpat_strings type;     /* operator types: all nodes of these types */
	struct tpat_strings region;   /* "A,B,C": these nodes together become one plugin */
	struct tpat_strings from, to; /* tensors: everything between them becomes one plugin */
	bool all;                     /* every node that tpat supports, in few plugins */
	struct tpat_strings pattern;  /* "layernorm", "gelu" ..., or ONNX files: a plugin wherever one occurs */
	struct tpat_strings except;   /* nodes that `type` and `automatic` skip */
	bool automatic;               /* all nodes that TensorRT refuses and tpat supports, joined with the nodes that
	                                 connect them cheaply into few plugins */
	bool fast;                    /* with `automatic`: also chains of other nodes that a plugin runs in fewer
	                                 kernels than TensorRT, by the estimate; never products and convolutions */
	const char *min_gain;         /* the least gain of such a chain: "20%" of its time, or "5us"; "0": no minimum;
	                                 null: 20 % and at least 1 us */
	int chains;                   /* the most such chains: those with the largest gains; 0: any number */
	/* With `automatic`: refused nodes that nodes of TensorRT's own replace, without a plugin: "auto" (or null):
	 * where they are estimated to be no slower; "no": none; "all". */
	const char *decompose;
	struct tpat_strings name; /* "NODE=PLUGIN": the name of a node's plugin; default tpat_TYPE_HASH, with a hash of
	                             the whole library: TensorRT loads no two plugins of the same name and namespace */
	const char *name_space;   /* of the plugins; null: "", or the hash for plugins named by the user */
	struct tpat_strings arch; /* "sm_90", "compute_90" (PTX), "all", "native"; none: one per kind of GPU, and PTX */
	const char *gpu;          /* to schedule kernels for: "H100 SXM", "orin nx"; null: by `arch`, else H100 SXM */
	const char *host;         /* the processor that the library is for: "aarch64", "x86_64"; null: this machine's */
	const char *tensorrt; /* target version: "8.6", "10.3", "11.1", "rtx"; null: 10.7 and later. Before 10.7 plugins
	                         must not have local functions of the same name: the model then has none, and a portable
	                         model with them is written next to it */
	struct tpat_strings shape;   /* "x:1x3xHxW" */
	struct tpat_strings value;   /* "sr=16000", "axes=1,2": model inputs to make constant, here and in the rewritten
	                                model */
	struct tpat_strings profile; /* "x:1x3x32x32,1x3x64x64,8x3x64x64": minimum, optimum, maximum; "*:1,8,32": the
	                                batch size of inputs whose only dynamic dimension is the first */
	bool split;                  /* each plugin in a library of its own */
	bool keep_types; /* keep BOOL and U8 for plugin inputs and outputs (TensorRT 10 and later accept them) */
	bool any_types;  /* accept types that TensorRT lacks */
	struct tpat_strings format; /* "HWC8", "CHW32": further formats of the plugins' tensors, so that TensorRT need
	                               not reformat them. Each has kernels of its own. "auto": those
	                               of convolutions around a plugin, where the estimate says that this is no slower
	                             */
	bool in_place;      /* an output that is an input with some elements replaced, such as a cache's update, may
	                       have the input's memory: for TensorRT's aliased inputs. Also for inputs of the model,
	                       which the caller then finds changed */
	bool debug_kernels; /* kernels check their positions and print those out of bounds; with line numbers */
	bool force;         /* replace the output's folder even if it has edited or added files */
	const char *db;     /* the tuning database to use; null: as tpat_db_options.db, if that exists */
	bool no_db;         /* use only the cost model */
	bool from_db_only;  /* fail if the database has nothing for a plugin's program: the same database then always
	                       gives the same library */
	int tactics;  /* maximum number of schedules per plugin that TensorRT may choose from; 0: TPAT_TACTICS, or one
	                 for more than two architectures, and for products, convolutions and attention */
	int workers;  /* threads; 0: one a processor */
	bool explain; /* explain each plugin's schedule (tpat_plugin.why) */
	const char *engine_report; /* a log of trtexec, the ONNX parser or Polygraphy: `automatic` takes nodes refused
	                              there, too. Null: none */
	bool dry_run; /* select regions, and build and write nothing: the result has no plugins and no files */
	const struct tpat_verified *verified; /* for tpat_report(): what tpat_verify() found, to show; null: nothing */
	/* Threads: any thread may call it, and several at once. Returns true to stop: see tpat_callbacks.cancel. May be
	 * null. */
	bool (*progress)(void *user, const struct tpat_progress *p);
	/* Gets each plugin's tensor program after each pass, as text; pass "cuda": its kernels. In the caller's thread.
	 * May be null. */
	void (*dump)(void *user, const char *pass, const char *text);
	void *user;
};
enum { TPAT_BUILD_VERSION = 11, TPAT_TACTICS = 2, TPAT_MOST_TACTICS = 8 };
#define TPAT_BUILD_OPTIONS ((struct tpat_build_options){ .version = TPAT_BUILD_VERSION })

struct tpat_plugin {
	const char *name, *version, *name_space, *hash, *about;
	struct tpat_strings nodes; /* labels of the nodes or regions it replaces */
	int kernels, tactics;
	const char *formats;     /* further formats of its tensors: "HWC8, CHW32"; null: row-major only */
	const char *decisions;   /* schedule of the first tactic, as in the database: "0 map@1 width=4" */
	double tuned_ns;         /* measured time of its decisions from the database; 0: the cost model decided */
	const char *tuned_shape; /* the measured extents ("8,768") */
	const char *tuned_on;    /* the measured GPU; null: the cost model decided */
	const struct tpat_schedule *why; /* of the first tactic at the optimum shapes; null: not requested */
};

/* A region that `automatic` chose. */
struct tpat_joined {
	const char *region;     /* label: the node's, or "first..last" */
	int nodes, refused;     /* its nodes; those that TensorRT refuses: none in a chain of `fast` */
	const char *why;        /* "ConvInteger 2, DynamicQuantizeLinear 2 joined by Cast 4, Mul 6" */
	int edges, edges_apart; /* tensors that cross the plugin's edge; those of one plugin for each refused node */
	double apart_ns;        /* estimated time with one plugin for each refused node, and TensorRT for the others */
	double together_ns;     /* estimated time as one plugin */
};

struct tpat_built {
	const char *model, *output, *folder; /* paths; folder null if nothing needed a plugin */
	const char *portable; /* path of the model with the original operators as local functions; null: `output` has
	                         them */
	struct tpat_strings libraries; /* paths: one, or with `split` one per plugin; none if nothing needed one */
	struct tpat_strings earlier;   /* paths of libraries of earlier builds that the model also uses */
	int model_nodes;
	int64_t opset;
	int refused;                       /* number of nodes that TensorRT refuses in the original, and their types: */
	struct tpat_strings refused_types; /* "ConvInteger 21" */
	int follow;                        /* nodes refused only because they read a tensor of one of these */
	int nodes, regions, folded;        /* nodes taken; regions; of these, computed at build time */
	const struct tpat_plugin *plugin;
	int plugins;
	struct tpat_strings arch; /* "sm_90", "PTX (compute_90)" */
	const char *host;         /* the processor that the libraries are for; null: this machine's */
	const char *db;           /* the tuning database used; null: none */
	int from_db, near;        /* plugins with schedules from it; of these, measured at other extents */
	int passed_over;          /* faster schedules in it that no longer build */
	int compiled, cached; /* plugins (those with many kernels in parts) times architectures: compiled, or with code
	                         from the user's cache */
	struct tpat_strings warnings;
	const char *deploy;               /* the next command to run */
	const struct tpat_joined *joined; /* with `automatic` */
	int joins;
	const struct tpat_plain_node *plain; /* with `automatic` */
	int plains;
	const char *runs; /* the engines that run the plugins: "TensorRT 10 and 11" */
	int guessed;      /* nonzero: some of the shapes in `deploy` are examples */
};

/* Builds plugins for the selected nodes and writes the rewritten model, its library and its folder: all of them, or
 * none after a failure. TPAT_USAGE if nothing is selected or an output cannot be written; TPAT_UNSUPPORTED if a
 * named node is not supported, or `automatic` finds no node; TPAT_DEVICE without NVRTC or a C compiler.
 * Threads: starts `workers` threads, and processes for the C compiler. */
TPAT_API int tpat_build(struct tpat *t, const struct tpat_built **out, const struct tpat_build_options *o);

/* ---- A build as a page to read. */

struct tpat_page {
	const char *path; /* of the file */
	uint64_t bytes;   /* its size */
	int nodes, regions, plugins;
	int left_out; /* plugins whose program, schedule and kernels are left out, to keep the page short */
};

/* Writes what tpat_build() would make with these options as one HTML file, complete or not at all: the model before and
 * after, each plugin's program, schedule and kernels, and a roofline. Compiles nothing, and needs neither NVRTC nor a
 * GPU. The page has no scripts and names no other file. It shows the first tactic of each plugin. `path`: the file;
 * null: MODEL.html next to the model. It ignores the options for names, namespaces, split, tactics,
 * workers, dump, dry_run and force. Errors as tpat_build(). Threads: starts none. */
TPAT_API int tpat_report(struct tpat *t, const struct tpat_page **out, const char *path,
                         const struct tpat_build_options *o);

/* ---- Building again, and repairing. */

struct tpat_rebuild_options {
	int version;                /* TPAT_REBUILD_VERSION */
	const char *folder;         /* "ocr.tpat", with edited kernels */
	struct tpat_strings kernel; /* edited kernels to copy into it: "FILE.cu", or "NODE=FILE.cu" with a plugin or one
	                               of its nodes if the folder's file has another name */
	int workers;                /* threads; 0: one a processor */
	bool (*progress)(void *user, const struct tpat_progress *p); /* as tpat_build_options */
	void *user;
};
enum { TPAT_REBUILD_VERSION = 2 };
#define TPAT_REBUILD_OPTIONS ((struct tpat_rebuild_options){ .version = TPAT_REBUILD_VERSION })

struct tpat_rebuilt {
	struct tpat_strings libraries; /* paths of the replaced libraries */
	struct tpat_strings compiled;  /* new code files in the folder: "code/x.sm_90.cubin" */
};

/* Recompiles edited kernels with NVRTC and relinks the library next to the folder. Threads: as tpat_build(). */
TPAT_API int tpat_rebuild(struct tpat *t, const struct tpat_rebuilt **out, const struct tpat_rebuild_options *o);

struct tpat_doctor_options {
	int version;      /* TPAT_DOCTOR_VERSION */
	const char *path; /* a folder, or a rewritten model */
	bool look;        /* change nothing */
	bool undo;        /* roll back an interrupted build instead of finishing it */
	bool force;       /* finish it even if that deletes edits in a .tpat folder */
};
enum { TPAT_DOCTOR_VERSION = 1 };
#define TPAT_DOCTOR_OPTIONS ((struct tpat_doctor_options){ .version = TPAT_DOCTOR_VERSION })

struct tpat_health {
	const char *model;            /* path of a rewritten model */
	int plugins;                  /* plugins it calls */
	struct tpat_strings problems; /* sentences: missing or mismatched files */
	struct tpat_strings edited;   /* edited or added files in its folder */
};
struct tpat_diagnosis {
	int finished, undone, removed; /* interrupted builds: completed; rolled back; removed before they changed
	                                  anything */
	int busy;                      /* running builds */
	const struct tpat_health *model;
	int models, problems;
};

/* Finishes or undoes an interrupted build, and checks that each rewritten model has its library and folder. Leaves
 * running builds alone. Threads: starts none. */
TPAT_API int tpat_doctor(struct tpat *t, const struct tpat_diagnosis **out, const struct tpat_doctor_options *o);

/* ---- Explaining a log. */

struct tpat_explanation {
	const char *line;        /* the first such line of the log, control characters escaped */
	int number, times;       /* its number, from 1; number of such lines */
	const char *from;        /* the program that writes this: "TensorRT", "Triton" */
	const char *cause, *fix; /* sentences */
};
struct tpat_explained {
	const struct tpat_explanation *found; /* in the order of the log; each cause once */
	int n;
};

/* Explains the errors in a log of trtexec, TensorRT, Polygraphy, Triton, DeepStream or ONNX Runtime that tpat knows.
 * TPAT_MODEL if the file cannot be read. Threads: starts none. */
TPAT_API int tpat_explain(struct tpat *t, const struct tpat_explained **out, const char *log);

/* ---- Deployment. */

struct tpat_deployed_file {
	const char *name, *text;
	const char *path; /* where it was written; null: nowhere */
};
struct tpat_deployed {
	const struct tpat_deployed_file *file;
	int files;
	bool guessed; /* some extents of inputs are examples, since no profile gives them */
};

struct tpat_deploy_options {
	int version;                 /* TPAT_DEPLOY_VERSION */
	const char *model;           /* path of a model that tpat_build wrote */
	const char *engine;          /* "trtexec" (also if null), "python", "cpp", "triton", "deepstream", "ort",
	                                "torch-tensorrt" or "polygraphy" */
	const char *tensorrt;        /* the version that will run it: "8.6", "10.3"; null: 11 */
	struct tpat_strings library; /* paths of its plugin libraries; none: those next to the model */
	struct tpat_strings profile; /* "x:1x4,8x4,32x4": minimum, optimum and maximum of an input */
	struct tpat_strings shape;   /* "x:1x3x224x224": an input's extents */
	const char *output;          /* folder to write the files into; null: none is written */
	bool force;                  /* overwrite files there that differ */
};
enum { TPAT_DEPLOY_VERSION = 1 };
#define TPAT_DEPLOY_OPTIONS ((struct tpat_deploy_options){ .version = TPAT_DEPLOY_VERSION })

/* Makes the files that run a rewritten model and its plugin libraries in an engine: commands, configuration, programs.
 * Paths in them are relative to the current folder. TPAT_UNSUPPORTED if the model calls no plugin; TPAT_MODEL if it
 * cannot be read or a library is missing; TPAT_USAGE for an unknown engine, a wrong shape or profile, or a file that
 * exists with other contents. Threads: starts none. */
TPAT_API int tpat_deploy(struct tpat *t, const struct tpat_deployed **out, const struct tpat_deploy_options *o);

/* ---- Measuring. */

struct tpat_bench_options {
	int version;                                    /* TPAT_BENCH_VERSION */
	const char *model;                              /* an ONNX model */
	struct tpat_strings node, type, region, except; /* as tpat_build_options; none: every node that tpat can take */
	struct tpat_strings from, to, pattern;
	bool all;
	bool automatic, fast;
	const char *min_gain, *decompose;
	int chains;
	struct tpat_strings shape;   /* "x:1x3x224x224"; unspecified extents are random */
	struct tpat_strings value;   /* "sr=16000": model inputs to make constant */
	const char *device;          /* "cuda", "cuda:1", "cpu"; null: cuda if available, else cpu */
	int repeats;                 /* time samples, of which the median is taken; 0: 25 */
	bool unchecked;              /* skip the comparison with the interpreter, which is slow for large shapes */
	struct tpat_strings input;   /* "TENSOR=FILE.npy" (or .npz, .pb): values to use instead of random ones */
	const char *save_outputs;    /* a folder for the results, one NAME.npy each; null: none */
	struct tpat_strings profile; /* as tpat_build_options: runs the optimum shapes; kernels keep these extents
	                                dynamic */
	const char *db;              /* the tuning database to use, as for a build; null: only the cost model */
	const char *lock;            /* a file to lock (flock) while timing; null: none */
	bool (*progress)(void *user, const struct tpat_progress *p);
	void *user;
};
enum { TPAT_BENCH_VERSION = 7 };
#define TPAT_BENCH_OPTIONS ((struct tpat_bench_options){ .version = TPAT_BENCH_VERSION })

struct tpat_timing {
	const char *node;             /* label of the node or region */
	const char *inputs, *outputs; /* "f32[4,3], f32[3]" */
	const char *schedule;         /* of each kernel: "reduce_lanes@1 lanes=256; map@1 width=4" */
	int kernels;                  /* launches of one run */
	double ns, spread;            /* median of one run; (third quartile - first) / median */
	double bytes;                 /* each input read once, each output written once */
	double operations;            /* multiply-adds and similar operations */
	double arithmetic_ns;         /* their time at the device's peak rate; 0: unknown */
	const char *bound;            /* the bottleneck at the device's peak rates: "memory", "arithmetic", "launch" */
	const char *tuned_shape, *tuned_on; /* where the database's decisions were measured; null: the cost model
	                                       decided */
	const char *wrong;                  /* how results differ from the interpreter's, or null */
	const char *error;                  /* why it could not run, a sentence; or null */
};

struct tpat_benched {
	const char *device;
	double bytes_per_ns; /* the best rate of a few copy kernels */
	const struct tpat_timing *timing;
	int timings, failed;
};

/* Times every node's or region's kernels. Inputs and outputs rotate over more memory than the caches hold, and launches
 * are recorded in a CUDA graph. TPAT_DIFFER if results are wrong; *out is filled in that case too. Threads: as
 * tpat_verify(); times are those of a device that does nothing else (see `lock`). */
TPAT_API int tpat_bench(struct tpat *t, const struct tpat_benched **out, const struct tpat_bench_options *o);

/* ---- The tuning database. */

enum tpat_db_action {
	TPAT_DB_LIST,   /* the best trial of each program, shape and device */
	TPAT_DB_STATS,  /* statistics */
	TPAT_DB_EXPORT, /* all trials as sorted text, one JSON object per line */
	TPAT_DB_IMPORT, /* add exported texts to the database */
	TPAT_DB_MERGE,  /* add other databases to the database */
	TPAT_DB_PRUNE,  /* delete invalid rows, and those of rules that have changed since */
};

struct tpat_db_options {
	int version; /* TPAT_DB_VERSION */
	enum tpat_db_action action;
	const char *db;            /* path; null: $TPAT_DB, or tpat/tpat.db in $XDG_CACHE_HOME or ~/.cache */
	struct tpat_strings file;  /* files to import or merge */
	const char *arch, *device; /* list, export: only these ("sm_90", "NVIDIA H100 80GB HBM3"); null: all */
	int keep;                  /* prune: keep this many fastest per program, shape and device; 0: all */
};
enum { TPAT_DB_VERSION = 1 };
#define TPAT_DB_OPTIONS ((struct tpat_db_options){ .version = TPAT_DB_VERSION })

struct tpat_db_row {
	const char *program, *name; /* hash; "softmax(x: f16[N,768]) -> ..." */
	const char *shape;          /* measured extents: "8"; "" if all are constant */
	const char *arch, *device;
	int trials;
	const char *decisions;       /* of the fastest: "0 map@1 width=4"; null: none was correct */
	double ns, spread, floor_ns; /* floor: lower bound from memory traffic; 0: unknown */
};

struct tpat_db_report {
	const char *path;
	const struct tpat_db_row *row; /* list */
	int rows;
	int64_t bytes, programs, devices, trials;     /* stats: of the file; list: of the listed rows */
	int64_t ok, wrong, crashed, timeout, refused; /* stats: trials by outcome */
	int64_t newest;                               /* stats: the time of the last one, seconds since 1970 */
	int64_t stale, foreign;                       /* stats, prune, merge: rows of changed rules; invalid rows */
	const char *text;                             /* export */
	size_t text_bytes;
	int64_t read, added; /* import, merge: trials found; of these, new ones */
	int64_t slow, left;  /* prune: rows removed by `keep`; rows left */
};

/* Performs one action on a tuning database. Only import, merge and prune change it: completely, or not at all after
 * a failure. TPAT_USAGE for a path that cannot be read or written, TPAT_MODEL for a file that is not a tuning
 * database. Threads: starts none; any number of threads and processes may use one database. */
TPAT_API int tpat_db(struct tpat *t, const struct tpat_db_report **out, const struct tpat_db_options *o);

/* ---- Tuning. */

struct tpat_tune_progress {
	const char *node;
	int done, all;            /* nodes */
	int trials;               /* of this one */
	double best_ns, first_ns; /* best so far; the cost model's choice; 0: unknown yet */
	double floor_ns;          /* lower bound from memory traffic */
	double seconds, left;
	bool over; /* this node is finished */
};

struct tpat_tune_options {
	int version;                                    /* TPAT_TUNE_VERSION */
	const char *model;                              /* an ONNX model */
	struct tpat_strings node, type, region, except; /* as tpat_build_options; none: every node that tpat can take */
	struct tpat_strings from, to, pattern;
	bool all;
	bool automatic, fast;
	const char *min_gain, *decompose;
	int chains;
	struct tpat_strings value;   /* as tpat_build_options */
	struct tpat_strings shape;   /* as tpat_build_options: fixes extents, which gives different programs */
	struct tpat_strings profile; /* as tpat_build_options: searches at the optimum, minimum and maximum shapes;
	                                unspecified extents are 64, as in tpat_build, or random */
	bool keep_types, any_types;  /* as in the build that will use the result */
	struct tpat_strings format;  /* likewise: programs with tensors in these formats are tuned, too; "auto": those
	                                of convolutions around a plugin, whatever the estimate says */
	bool in_place;               /* likewise */
	const char *device;          /* "cuda", "cuda:1", "cpu"; null: cuda, see `local` */
	const char *db;              /* the database's path; null: the default one */
	struct tpat_strings devices; /* instead of `device`: a process for each of these shares the work and writes a
	                                database of its own, which is merged into `db` at the end */
	/* This process does part `shard` of `shards`, counted from 0, and writes a database of its own next to `db`,
	 * "tpat.0-of-4.db", for TPAT_DB_MERGE. Parts divide the programs, then their candidates. shards 0: all of the
	 * work. */
	int shard, shards;
	/* Its number among the `locals` processes on this machine: without `device` it takes the GPU of that number,
	 * and by default as many processors as the others. locals 0: alone. */
	int local, locals;
	double seconds;  /* per distinct program, for all its shapes together; 0: 60 */
	int trials;      /* maximum per distinct program and shape; 0: limited by time only */
	int workers;     /* compiling processes of all devices; 0: one per processor */
	double deadline; /* time limit in seconds for compiling, and for running, a candidate; 0: 30 */
	uint64_t seed;
	bool (*progress)(void *user, const struct tpat_tune_progress *p); /* returns true to stop with the best so far.
	                                                                     May be null */
	void *user;
};
enum { TPAT_TUNE_VERSION = 7 };
#define TPAT_TUNE_OPTIONS ((struct tpat_tune_options){ .version = TPAT_TUNE_VERSION, .seed = 1 })

struct tpat_tuned_node {
	const char *node;              /* label of the node or region */
	const char *same_as;           /* another, tuned node with the same program; the rest is then empty. Or null */
	const char *inputs, *outputs;  /* "f32[4,3], f32[3]" */
	const char *shape;             /* the dynamic extents, as in the database: "8"; "" if all are constant */
	const char *before, *schedule; /* decisions: the cost model's, and the best: "0 map@1 width=4" */
	int kernels;                   /* launches of one run of the best */
	double before_ns, ns;          /* 0: unknown */
	double bytes, floor_ns; /* each input read once, each output written once; the time for that at the best rate */
	int known, trials, failed; /* trials of earlier runs; of this run; of these, failed: crashed, hung, wrong,
	                              refused */
	double seconds;
	const char *end;    /* why it ended: "nothing left to gain", "budget", "interrupted" */
	const char *error;  /* why nothing was found, a sentence; or null */
	const char *format; /* of its tensors: "HWC8"; null: row-major */
};

struct tpat_tuning {
	const char *device, *db;
	double bytes_per_ns;
	const struct tpat_tuned_node *tuned;
	int n, failed;     /* failed: those without a result */
	int shard, shards; /* as in the options; shards 0: all of the work */
	bool interrupted;
	struct tpat_strings warnings;
};

/* Searches for the fastest schedule of every node's or region's program on the device, and stores every trial in the
 * database, where tpat_build finds the best. TPAT_DIFFER if nothing was found for some; *out is filled in that case
 * too. Threads: forks, so the process must not have used a GPU before; the callbacks run in the caller's thread. */
TPAT_API int tpat_tune(struct tpat *t, const struct tpat_tuning **out, const struct tpat_tune_options *o);

/* ---- Inspecting a library. */

struct tpat_inspected_plugin {
	const char *name, *version, *name_space, *hash, *about;
	struct tpat_strings inputs, outputs; /* "x: f32[.,3]" */
	struct tpat_strings kernels;         /* "launch 1: name, 256 threads, for some shapes" */
	struct tpat_strings code;            /* "sm_90 12345 bytes" */
	struct tpat_strings formats;         /* other formats, and the tensors that have them: "HWC8: x, y" */
	struct tpat_strings in_place;        /* outputs that may have an input's memory: "y: x" */
};
struct tpat_inspected {
	const char *library, *model, *generator;
	const struct tpat_inspected_plugin *plugin;
	int plugins;
	struct tpat_strings problems; /* sentences: what TensorRT would miss; none if it is fine */
};

/* Opens the library, which runs its constructors, and reads its tables. Threads: starts none. */
TPAT_API int tpat_inspect(struct tpat *t, const struct tpat_inspected **out, const char *library);

#ifdef __cplusplus
}
#endif

#include "tpat/tpat_verify.h" /* verifying plugins, running edited kernels, checking libraries */
#include "tpat/tpat_run.h"    /* running whole models */

#endif
