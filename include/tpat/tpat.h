/* SPDX-License-Identifier: Apache-2.0 */
/* tpat.h: the library. Reads an ONNX model, makes CUDA kernels for chosen nodes, wraps them in a TensorRT plugin
 * library, and writes a model that uses it. The program `tpat` is this library and its options.
 *
 * A context (struct tpat) belongs to one thread at a time; several contexts in several threads are independent. What a
 * call returns lives until the next call with the same context. Every call returns 0 or a negative enum tpat_code; then
 * tpat_error() is a complete sentence. Nothing is printed, and no file is left half-written.
 *
 * Options structs: start from their initialiser (TPAT_BUILD_OPTIONS ...), so that members of later versions have their
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
	TPAT_USAGE = -2,       /* an option, or a path that cannot be written; or the caller interrupted */
	TPAT_MODEL = -3,       /* the model file, or another input file, is wrong */
	TPAT_UNSUPPORTED = -4, /* right, but nothing that tpat can take */
	TPAT_DEVICE = -5,      /* GPU, driver, NVRTC, C compiler, memory */
};

struct tpat;
struct tpat_strings {
	const char *const *at;
	int n;
};

/* Null when memory is out. */
TPAT_API struct tpat *tpat_new(void);
TPAT_API void tpat_free(struct tpat *t); /* null is fine */
TPAT_API const char *tpat_version(void); /* of the library: TPAT_VERSION when it was built */

/* Of the last call that failed: what is wrong; where ("net.onnx: node conv1: ", may be ""); what to do (may be ""). */
TPAT_API const char *tpat_error(const struct tpat *t);
TPAT_API const char *tpat_error_where(const struct tpat *t);
TPAT_API const char *tpat_error_advice(const struct tpat *t);
/* The names alone that it is about; "" where there is none. */
TPAT_API const char *tpat_error_file(const struct tpat *t);
TPAT_API const char *tpat_error_node(const struct tpat *t);
TPAT_API const char *tpat_error_tensor(const struct tpat *t);

/* ---- What a model holds
 * ----------------------------------------------------------------- */

enum tpat_support { TPAT_TRT_NO, TPAT_TRT_PARTLY, TPAT_TRT_YES };

struct tpat_node {
	int index;         /* in its graph */
	const char *graph; /* "": the main graph; else the node that holds it and the attribute: "choose/then_branch" */
	const char *label; /* what options call it: its name, or "#12"; in a graph inside of a node its name, or where
	                    * another node has that too, "choose/then_branch/NAME" or "choose/then_branch/#3" */
	const char *op_type, *domain; /* domain "": ai.onnx */
	int opset;
	const char *inputs, *outputs; /* "f32[N,3], f32[3]" */
	enum tpat_support tensorrt;   /* whether TensorRT takes it by itself */
	const char *tensorrt_why;     /* a sentence, "" for yes */
	bool taken;                   /* tpat can take it */
	bool constant;                /* its results are known when the model is built */
	const char *why;              /* when not taken: a sentence */
	const char *advice;           /* when not taken: what to do, or "" */
};

/* How a program is scheduled: its stages, in order, and what each rule says of them. */
struct tpat_rule {
	const char *name; /* "rows" */
	bool chosen, applies;
	double ns;              /* the cost model's estimate of its best choice, or of the chosen one */
	int stages;             /* that this one choice makes */
	int choices;            /* that the rule would try */
	const char *parameters; /* of that choice: "lanes=128 width=4 steps=2 once=1" */
	const char *why;        /* when it does not apply: a clause, "the stage is no map" */
};
struct tpat_stage {
	const char *text;             /* "mean: f32[N,1] = sum (i, j | r<768) ..." */
	int made_with;                /* the stage whose choice makes it: its own number, or an earlier one */
	const struct tpat_rule *rule; /* the chosen one first, then those that apply by their estimates, then the
	                               * others */
	int rules;                    /* none where an earlier stage's choice makes it */
};
struct tpat_schedule {
	const char *what; /* the node, or the plugin */
	const char *gpu;  /* whose facts decide: "H100 SXM" */
	const struct tpat_stage *stage;
	int stages;
};

struct tpat_list {
	const char *model;
	int64_t ir_version, opset;                     /* of ai.onnx */
	struct tpat_strings inputs, outputs, warnings; /* "x: f32[N,3]" */
	const struct tpat_node *node;                  /* the main graph's, then those of each graph inside of a node */
	int nodes;
	const struct tpat_schedule *const *why; /* of the nodes in the option `why` */
	int whys;
};

struct tpat_list_options {
	int version;               /* TPAT_LIST_VERSION */
	const char *model;         /* path */
	struct tpat_strings shape; /* "x:1x3xHxW": what an input's extents are */
	struct tpat_strings value; /* "sr=16000", "axes=1,2": inputs that become constants, in their own types */
	struct tpat_strings why;   /* nodes (name, "#12", an output's name) whose schedules are to be explained */
	const char *gpu;           /* for it: "H100 SXM", "native"; null: H100 SXM */
};
enum { TPAT_LIST_VERSION = 3 };
#define TPAT_LIST_OPTIONS ((struct tpat_list_options){ .version = TPAT_LIST_VERSION })

TPAT_API int tpat_list(struct tpat *t, const struct tpat_list **out, const struct tpat_list_options *o);

/* ---- Building
 * ----------------------------------------------------------------- */

struct tpat_progress {
	const char *stage; /* "read", "program", "compile", "write" */
	const char *what;  /* node, plugin or file */
	int done, all;
};

struct tpat_build_options {
	int version;                /* TPAT_BUILD_VERSION */
	const char *model;          /* path of the model; never overwritten */
	const char *output;         /* path of the rewritten model; null: MODEL_tpat.onnx beside the model */
	struct tpat_strings node;   /* nodes: name, "#12", or the name of an output. One plugin each */
	struct tpat_strings type;   /* operator types: all nodes of them */
	struct tpat_strings region; /* "A,B,C": these nodes together become one plugin */
	struct tpat_strings except; /* nodes that `type` and `automatic` pass over */
	bool automatic;             /* all nodes that TensorRT refuses and tpat can take */
	struct tpat_strings name; /* "NODE=PLUGIN": what a node's plugin is called; else tpat_TYPE_HASH, where the hash
	                           * is of the whole library: TensorRT loads no two plugins of one name and namespace */
	const char *name_space;   /* of the plugins; null: "", or the hash for plugins with a name of the user's */
	struct tpat_strings arch; /* "sm_90", "compute_90" (PTX), "all", "native"; none: one for each kind of GPU, and
	                             PTX */
	const char *gpu; /* that kernels are scheduled for: "H100 SXM", "orin nx"; null: by `arch`, else H100 SXM */
	const char *tensorrt; /* that the model is for: "10.3", "11.1", "rtx"; null: 10.7 and later. Before 10.7 plugins
	                       * must have no local functions of their names: the model has none then, and a portable
	                       * one that has them is written beside it */
	struct tpat_strings shape; /* "x:1x3xHxW" */
	struct tpat_strings value; /* "sr=16000", "axes=1,2": inputs of the model that become constants, here and in the
	                            * rewritten model */
	struct tpat_strings profile; /* "x:1x3x32x32,1x3x64x64,8x3x64x64": smallest, usual, largest */
	bool split;                  /* each plugin in a library of its own */
	bool keep_types;   /* BOOL and U8 stay as they are at a plugin's edge (TensorRT 10 and later take them) */
	bool any_types;    /* do not refuse types that TensorRT lacks */
	bool force;        /* replace the output's folder also where somebody has edited or added files in it */
	const char *db;    /* the tuning database whose decisions are used; null: as tpat_db_options.db, where there is
	                    * one */
	bool no_db;        /* the cost model decides alone */
	bool from_db_only; /* fail where the database knows nothing of a plugin's program: the same database, the same
	                      bytes */
	int tactics;  /* schedules of each plugin that TensorRT may choose from, at most; 0: TPAT_TACTICS, or one for
	               * more  than two architectures, and of products, convolutions and attention */
	int workers;  /* threads; 0: one a processor */
	bool explain; /* say of each plugin how it was scheduled and why (tpat_plugin.why) */
	/* Called from any thread; true: stop, remove everything, return TPAT_USAGE. May be null. */
	bool (*progress)(void *user, const struct tpat_progress *p);
	/* Each plugin's tensor program after each pass, as text; "cuda": its kernels. May be null. */
	void (*dump)(void *user, const char *pass, const char *text);
	void *user;
};
enum { TPAT_BUILD_VERSION = 4, TPAT_TACTICS = 2, TPAT_MOST_TACTICS = 8 };
#define TPAT_BUILD_OPTIONS ((struct tpat_build_options){ .version = TPAT_BUILD_VERSION })

struct tpat_plugin {
	const char *name, *version, *name_space, *hash, *about;
	struct tpat_strings nodes; /* labels of the nodes or regions that it stands for */
	int kernels, tactics;
	const char *decisions;   /* how the first tactic is made, as the database has it: "0 map@1 width=4" */
	double tuned_ns;         /* what its decisions from the database were measured at; 0: the cost model decided */
	const char *tuned_shape; /* at these extents ("8,768") */
	const char *tuned_on;    /* on this GPU; null: the cost model decided */
	const struct tpat_schedule *why; /* of the first tactic at the usual extents; null: not asked for */
};

struct tpat_built {
	const char *model, *output, *folder; /* paths; folder null when nothing needed a plugin */
	const char *portable; /* path of the model with the original operators as local functions; null: `output` has
	                         them */
	struct tpat_strings libraries; /* paths: one, or with `split` one a plugin; none when nothing needed one */
	struct tpat_strings earlier;   /* paths of libraries of earlier builds: the model has plugins of theirs, too */
	int model_nodes;
	int64_t opset;
	int refused;                       /* nodes that TensorRT refuses in the original, of these types: */
	struct tpat_strings refused_types; /* "ConvInteger 21" */
	int nodes, regions, folded;        /* taken; regions of them; of these known at build time */
	const struct tpat_plugin *plugin;
	int plugins;
	struct tpat_strings arch; /* "sm_90", "PTX (compute_90)" */
	const char *db;           /* the tuning database that was asked; null: none */
	int from_db, near;        /* plugins that it decides; of these by what was measured at other extents */
	int passed_over;          /* faster decisions in it that can no longer be built */
	struct tpat_strings warnings;
	const char *deploy; /* the command that comes next */
};

TPAT_API int tpat_build(struct tpat *t, const struct tpat_built **out, const struct tpat_build_options *o);

/* ---- Building again, and repairing
 * ----------------------------------------------------------------- */

struct tpat_rebuild_options {
	int version;                                                 /* TPAT_REBUILD_VERSION */
	const char *folder;                                          /* "ocr.tpat", whose kernels were edited */
	int workers;                                                 /* threads; 0: one a processor */
	bool (*progress)(void *user, const struct tpat_progress *p); /* as tpat_build_options */
	void *user;
};
enum { TPAT_REBUILD_VERSION = 1 };
#define TPAT_REBUILD_OPTIONS ((struct tpat_rebuild_options){ .version = TPAT_REBUILD_VERSION })

struct tpat_rebuilt {
	struct tpat_strings libraries; /* paths: what was put in place */
	struct tpat_strings compiled;  /* files of code that are new, in the folder: "code/x.sm_90.cubin" */
};

/* Compiles what was edited since its code was made, with NVRTC, and links the library again, to its place beside the
 * folder. */
TPAT_API int tpat_rebuild(struct tpat *t, const struct tpat_rebuilt **out, const struct tpat_rebuild_options *o);

struct tpat_doctor_options {
	int version;      /* TPAT_DOCTOR_VERSION */
	const char *path; /* a folder, or a rewritten model */
	bool look;        /* change nothing */
	bool undo;        /* put back what was there before an interrupted build, instead of finishing it */
	bool force;       /* finish it also where that deletes what somebody did in a .tpat folder */
};
enum { TPAT_DOCTOR_VERSION = 1 };
#define TPAT_DOCTOR_OPTIONS ((struct tpat_doctor_options){ .version = TPAT_DOCTOR_VERSION })

struct tpat_health {
	const char *model;            /* path of a rewritten model */
	int plugins;                  /* that it calls */
	struct tpat_strings problems; /* sentences: what is missing, or does not belong together */
	struct tpat_strings edited;   /* files of its folder that somebody edited or added */
};
struct tpat_diagnosis {
	int finished, undone, removed; /* interrupted builds: put in place; put back; removed before they changed
	                                  anything */
	int busy;                      /* builds that run */
	const struct tpat_health *model;
	int models, problems;
};

/* Finishes or undoes what an interrupted build began, and says whether each rewritten model has its library and
 * folder. */
TPAT_API int tpat_doctor(struct tpat *t, const struct tpat_diagnosis **out, const struct tpat_doctor_options *o);

/* ---- Verification
 * ----------------------------------------------------------------- */

struct tpat_verify_options {
	int version;         /* TPAT_VERIFY_VERSION */
	const char *model;   /* rewritten model */
	const char *library; /* null: the one that the model was built with, beside it */
	const char *device;  /* "cuda", "cuda:1"; "emulator": the CUDA text on the processor, every access checked;
	                      * "cpu": the  kernels in C. null: the first of these that works here */
	struct tpat_strings input; /* "tensor=file.npy", ".npz" or ".pb": a plugin's input, by its name in the model */
	struct tpat_strings shape; /* "tensor:4x3x64": extents of a plugin's input */
	struct tpat_strings value; /* "tensor=16000", "tensor=1,2": values of a plugin's input, in its own type */
	uint64_t seed;
	int runs;         /* draws of extents and values a plugin; 0: 3 */
	const char *dump; /* folder for the .npz of what differs; null: the current one */
	bool (*progress)(void *user, const struct tpat_progress *p);
	void *user;
};
enum { TPAT_VERIFY_VERSION = 2 };
#define TPAT_VERIFY_OPTIONS ((struct tpat_verify_options){ .version = TPAT_VERIFY_VERSION, .seed = 1 })

struct tpat_check {
	const char *plugin, *node;
	const char *inputs, *outputs; /* "f32[4,3], f32[3]": of the worst run */
	bool passed;
	const char *error;  /* the plugin could not run: a sentence; else null */
	const char *output; /* name of the output with the worst element */
	int64_t elements, differing;
	double max_absolute, max_relative;
	const char *worst; /* "[2,1]: got 1.5, want 1.25"; "" when all are equal */
	const char *dump;  /* path of the .npz, or null */
};

struct tpat_verified {
	const char *library, *device; /* library: all that were opened, separated by ", " */
	const struct tpat_check *check;
	int checks, failed;
};

/* Runs every plugin of a rewritten model through its own interface, as TensorRT would, and compares with the original
 * nodes (the local function) in the interpreter. TPAT_DIFFER when results differ; *out is filled then, too. */
TPAT_API int tpat_verify(struct tpat *t, const struct tpat_verified **out, const struct tpat_verify_options *o);

/* ---- Measuring
 * ----------------------------------------------------------------- */

struct tpat_bench_options {
	int version;                                    /* TPAT_BENCH_VERSION */
	const char *model;                              /* an ONNX model */
	struct tpat_strings node, type, region, except; /* as tpat_build_options; none: every node that tpat can take */
	bool automatic;
	struct tpat_strings shape; /* "x:1x3x224x224"; extents that nothing gives are drawn */
	struct tpat_strings value; /* "sr=16000": inputs of the model that become constants */
	const char *device;        /* "cuda", "cuda:1", "cpu"; null: cuda where there is one, else cpu */
	int repeats;               /* samples of a time, of which the median counts; 0: 25 */
	bool unchecked; /* do not compare results with the interpreter's, which takes its time at large shapes */
	struct tpat_strings input;   /* "TENSOR=FILE.npy" (or .npz, .pb): values, where none are to be drawn */
	const char *save_outputs;    /* a folder for the results, NAME.npy each; null: nowhere */
	struct tpat_strings profile; /* as tpat_build_options: the usual extents are taken, and stay open in the
	                              * kernels */
	const char *db;   /* the tuning database that decides, as for a build; null: the cost model decides */
	const char *lock; /* a file whose lock (flock) is held while something is timed; null: none */
	bool (*progress)(void *user, const struct tpat_progress *p);
	void *user;
};
enum { TPAT_BENCH_VERSION = 4 };
#define TPAT_BENCH_OPTIONS ((struct tpat_bench_options){ .version = TPAT_BENCH_VERSION })

struct tpat_timing {
	const char *node;             /* label of the node or region */
	const char *inputs, *outputs; /* "f32[4,3], f32[3]" */
	const char *schedule;         /* "reduce_lanes 1: lanes 256; map 1: width 4": of each kernel */
	int kernels;                  /* launches of one run */
	double ns, spread;            /* median of one run; (third quartile - first) / median */
	double bytes;                 /* each input read once, each output written once */
	double operations;            /* multiply-adds and their like */
	double arithmetic_ns;         /* what these take at the device's best rate; 0: not known */
	const char *bound; /* what takes longest at the device's best rates: "memory", "arithmetic", "launch" */
	const char *tuned_shape, *tuned_on; /* where the database's decisions were measured; null: the cost model
	                                       decided */
	const char *wrong;                  /* what differs from the interpreter's results, or null */
	const char *error;                  /* it could not run: a sentence; or null */
};

struct tpat_benched {
	const char *device;
	double bytes_per_ns; /* the device's best rate of a few copy kernels */
	const struct tpat_timing *timing;
	int timings, failed;
};

/* Times every node's or region's kernels: inputs and outputs rotate over more memory than the cache holds, launches are
 * recorded in a graph. TPAT_DIFFER when results are wrong; *out is filled then, too. */
TPAT_API int tpat_bench(struct tpat *t, const struct tpat_benched **out, const struct tpat_bench_options *o);

/* ---- The tuning database
 * ----------------------------------------------------------------- */

enum tpat_db_action {
	TPAT_DB_LIST,   /* the best of each program at each extents on each device */
	TPAT_DB_STATS,  /* how much there is */
	TPAT_DB_EXPORT, /* all trials as text: sorted, a JSON object a line */
	TPAT_DB_IMPORT, /* texts that were exported, into the database */
	TPAT_DB_MERGE,  /* other databases into the database */
	TPAT_DB_PRUNE,  /* rows away that are of no use: of rules that have changed since, or of no tpat */
};

struct tpat_db_options {
	int version; /* TPAT_DB_VERSION */
	enum tpat_db_action action;
	const char *db;            /* path; null: $TPAT_DB, or tpat/tpat.db in $XDG_CACHE_HOME or ~/.cache */
	struct tpat_strings file;  /* to import or to merge */
	const char *arch, *device; /* list, export: these alone ("sm_90", "NVIDIA H100 80GB HBM3"); null: all */
	int keep;                  /* prune: the so many fastest of each program, extents and device; 0: all */
};
enum { TPAT_DB_VERSION = 1 };
#define TPAT_DB_OPTIONS ((struct tpat_db_options){ .version = TPAT_DB_VERSION })

struct tpat_db_row {
	const char *program, *name; /* hash; "softmax(x: f16[N,768]) -> ..." */
	const char *shape;          /* extents that it was measured at: "8"; "" where all are constant */
	const char *arch, *device;
	int trials;
	const char *decisions;       /* of the fastest: "0 map@1 width=4"; null: none was right */
	double ns, spread, floor_ns; /* floor: what the bytes alone would take; 0: unknown */
};

struct tpat_db_report {
	const char *path;
	const struct tpat_db_row *row; /* list */
	int rows;
	int64_t bytes, programs, devices, trials;     /* stats: of the file; list: of what is listed */
	int64_t ok, wrong, crashed, timeout, refused; /* stats: trials by what came of them */
	int64_t stale, foreign;                       /* stats, prune, merge: rows of no use; that are none of tpat */
	const char *text;                             /* export */
	size_t text_bytes;
	int64_t read, added; /* import, merge: trials there; of these new ones */
	int64_t slow, left;  /* prune: removed by `keep`; rows that are left */
};

TPAT_API int tpat_db(struct tpat *t, const struct tpat_db_report **out, const struct tpat_db_options *o);

/* ---- Tuning
 * ----------------------------------------------------------------- */

struct tpat_tune_progress {
	const char *node;
	int done, all;            /* nodes */
	int trials;               /* of this one */
	double best_ns, first_ns; /* best so far; the cost model's choice; 0: not known yet */
	double floor_ns;          /* what its bytes alone would take */
	double seconds, left;
	bool over; /* it is done */
};

struct tpat_tune_options {
	int version;                                    /* TPAT_TUNE_VERSION */
	const char *model;                              /* an ONNX model */
	struct tpat_strings node, type, region, except; /* as tpat_build_options; none: every node that tpat can take */
	bool automatic;
	struct tpat_strings value;   /* as tpat_build_options */
	struct tpat_strings shape;   /* as tpat_build_options: what is given here is fixed, and makes other programs */
	struct tpat_strings profile; /* as tpat_build_options: searched for at the usual, the smallest and the largest
	                                extents; extents that nothing gives are 64, as tpat_build assumes, or drawn */
	bool keep_types, any_types;  /* as the build that is to use it */
	const char *device;          /* "cuda", "cuda:1", "cpu"; null: cuda */
	const char *db;              /* the database's path; null: the usual one */
	double seconds;              /* for each distinct program, at all its extents together; 0: 60 */
	int trials;      /* at most, for each distinct program at its extents; 0: as many as there is time for */
	int workers;     /* compiling processes; 0: one a processor */
	double deadline; /* seconds after which a candidate's compilation, or its run, is given up; 0: 30 */
	uint64_t seed;
	bool (*progress)(void *user, const struct tpat_tune_progress *p); /* true: stop, and keep what is best. May be
	                                                                     null */
	void *user;
};
enum { TPAT_TUNE_VERSION = 2 };
#define TPAT_TUNE_OPTIONS ((struct tpat_tune_options){ .version = TPAT_TUNE_VERSION, .seed = 1 })

struct tpat_tuned_node {
	const char *node;    /* label of the node or region */
	const char *same_as; /* another node with this program, which was tuned; then nothing follows. Or null */
	const char *inputs, *outputs; /* "f32[4,3], f32[3]" */
	const char *shape; /* the extents that are open, as the database has them: "8"; "" where all are constant */
	const char *before, *schedule; /* decisions: the cost model's, and the best: "0 map@1 width=4" */
	int kernels;                   /* launches of one run of the best */
	double before_ns, ns;          /* 0: not known */
	double bytes, floor_ns; /* each input read once, each output written once; what that takes at the best rate */
	int known, trials, failed; /* trials of earlier runs; of this one; of these: crashed, hung, wrong, refused */
	double seconds;
	const char *end;   /* why it ended: "nothing left to gain", "budget", "interrupted" */
	const char *error; /* nothing was found: a sentence; or null */
};

struct tpat_tuning {
	const char *device, *db;
	double bytes_per_ns;
	const struct tpat_tuned_node *tuned;
	int n, failed; /* failed: for which nothing was found */
	bool interrupted;
	struct tpat_strings warnings;
};

/* Searches for the fastest schedule of every node's or region's program on the device, and keeps every trial in the
 * database, where tpat_build finds the best. Forks: the process must not have used a GPU before. TPAT_DIFFER when
 * nothing was found for some; *out is filled then, too. */
TPAT_API int tpat_tune(struct tpat *t, const struct tpat_tuning **out, const struct tpat_tune_options *o);

/* ---- What a library holds
 * ----------------------------------------------------------------- */

struct tpat_inspected_plugin {
	const char *name, *version, *name_space, *hash, *about;
	struct tpat_strings inputs, outputs; /* "x: f32[.,3]" */
	struct tpat_strings kernels;         /* "name, 256 threads" */
	struct tpat_strings code;            /* "sm_90 12345 bytes" */
};
struct tpat_inspected {
	const char *library, *model, *generator;
	const struct tpat_inspected_plugin *plugin;
	int plugins;
	struct tpat_strings problems; /* sentences: what TensorRT would miss; none when it is fine */
};

/* Opens the library, which runs its constructor, and reads its tables. */
TPAT_API int tpat_inspect(struct tpat *t, const struct tpat_inspected **out, const char *library);

#ifdef __cplusplus
}
#endif

#endif
