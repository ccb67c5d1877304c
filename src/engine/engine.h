/* An inference engine that tpat makes plugins for, as one struct: types at a plugin's edge, the nodes that the engine
 * supports itself, its versions, how to build a plugin library, how the rewritten model calls a plugin, and the command
 * that comes next. src/graph and src/lib only use this struct and know no engine. Each engine has a folder for its own
 * parts; docs/add-an-engine.md says how to add one. */
#ifndef TPAT_ENGINE_ENGINE_H
#define TPAT_ENGINE_ENGINE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/str.h"
#include "base/vec.h"
#include "engine/engine_host.h"
#include "gen/language.h"
#include "onnx/onnx.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

/* ---- Supported nodes. */

enum engine_support { ENGINE_NO, ENGINE_PARTLY, ENGINE_YES };

/* An input or output of a node. */
struct engine_value {
	const char *name; /* "": absent */
	enum type type;   /* TYPE_NONE: unknown */
	int rank;         /* -1: unknown */
	bool known;       /* its value is known when the engine is built */
	bool zero;        /* all its elements are known to be 0 */
};

struct engine_node {
	const Onnx__NodeProto *proto;
	const char *domain; /* the operator's; OP_ANY_DOMAIN: a plugin of the engine's vendor, in any domain */
	bool inside;        /* in a function, or in a body of one: its tensors are unknown */
	const struct engine_value *value; /* inputs, then outputs; null if `inside` */
	int32_t version;                  /* of the engine, as engine_version.number */
};

/* ---- Versions. */

/* The engine version that a build targets. Texts are constants. */
struct engine_version {
	const char *name;         /* as the user wrote it; null: the default */
	int32_t number;           /* in the engine's own numbering; 0: the default */
	bool no_layouts;          /* plugins' tensors are row-major */
	bool no_functions;        /* it prefers a node's local function over its plugin: the model must have none */
	const char *shape_inputs; /* why input values cannot decide extents, a clause; null: they can */
	const char *sizes;        /* why kernels cannot compute extents of outputs, a clause; null: they can */
	const char *warning;      /* why plugins cannot run at all, sentences; null: they can */
	const char *note;         /* limits of a rewritten model, as a shell comment */
	const char *runs;         /* the versions that can run the plugins: "TensorRT 10 and 11" */
};

/* ---- A library of plugins. */

/* One architecture to compile for: a cubin (sm_90), or PTX (compute_90) for it and all later ones. */
struct engine_arch {
	int arch;
	bool ptx;
};

/* A plugin's value of each weight of its program (ir_buffer.weight), in the order of the program's buffers. */
struct engine_weights {
	VEC(const struct tensor *);
};

/* A format in which the engine can store tensors, besides row-major. The channels are the axis `axis`, counted from the
 * end, padded with zeros to a multiple of `block`. They are the last axis in memory; or, if `inner`, only those of a
 * block are. */
struct engine_layout {
	const char *name; /* "HWC8" */
	int number;       /* the engine's own */
	int axis, block;
	bool inner;
	enum type type[4]; /* of tensors that can have it; then TYPE_NONE */
	enum type own[2];  /* of those for which the engine's own convolutions use it; then TYPE_NONE */
};

struct engine_plugin {
	const char *name, *version, *name_space; /* as in the model's nodes */
	const struct engine_plugin *like; /* an earlier plugin of the library that differs only in its weights: this one
	                                     runs its kernels; null: it has its own */
	struct engine_weights weights;
	const char *of;        /* the plugin that this one is, with tensors in other formats; null: its own */
	const int *format;     /* engine_layout.number of inputs, then outputs; 0: row-major. Null: all are */
	const char *hash;      /* of the program, ir_hash */
	const char *about;     /* one line: "ConvInteger of x: u8[1,64,N,3], ..." */
	const char *decisions; /* of all plans, as text without names of tensors */
	const struct ir_plan *const *plan; /* schedules of one program; the first is the default */
	int plans;
	const char *const *node; /* labels of the nodes that it replaces */
	int nodes;
};

/* A library, and facts for the texts in its folder. File names without folders. */
struct engine_library {
	const char *generator; /* "tpat 0.1.0" */
	const char *model;     /* the original: "ocr.onnx" */
	const char *rewritten; /* "ocr_tpat.onnx" */
	const char *portable;  /* "ocr_tpat_portable.onnx", which has the local functions; null: `rewritten` has them */
	const char *library;   /* "libtpat_ocr.so" */
	const char *deploy;    /* the next commands, for the README */
	const char *runs;      /* engine_version.runs */
	const struct engine_plugin *plugin;
	int plugins;
	const struct engine_arch *arch;
	int archs;
	const struct machine *machine; /* that the library is for; null: this one */
	int workers;                   /* compiler threads; 0: one for each processor */
	/* Called repeatedly, from any thread; returning true stops the build (ERR_CANCELLED). May be null. */
	bool (*progress)(void *user, int done, int all, const char *what);
	/* Called after a failed build for each plugin and architecture whose kernels the compiler refused, with its
	 * error. */
	void (*refused)(void *user, const struct engine_plugin *p, const char *why);
	/* Called for each plugin and architecture that was compiled, or whose code was found in the cache. May be null.
	 */
	void (*compiled)(void *user, bool found);
	/* Called for each of these texts as soon as its code is there, from any thread: "tpat_softmax_x.cu", "sm_90".
	 * May be null. */
	void (*made)(void *user, const char *what, const char *arch, bool found);
	void *user;
};

/* A folder to rebuild after its kernels, tables or runtime were edited. */
struct engine_again {
	const char *folder, *work; /* the folder; an empty one to compile in */
	const char *library;       /* absolute path of the library to make */
	const char *const *plugin; /* names of the folder's plugins */
	int plugins;
	const struct engine_arch *arch;
	int archs, workers;
	const struct machine *machine;                                     /* as above */
	bool (*progress)(void *user, int done, int all, const char *what); /* as above */
	void *user;
	struct {
		VEC(const char *);
	} made; /* files under `work` to move to the same names in the folder: compiled code, and the stamp */
};

/* ---- The rewritten model. */

/* Attributes of a node that calls a plugin. */
struct engine_call {
	const char *version, *name_space;
	const int *shape_input; /* indices of the shape inputs: their values decide extents */
	int shape_inputs;
};

/* Input for the next command. `shape`: "1x4", for minimum, optimum and maximum. */
struct engine_extents {
	const char *name;
	const char *shape[3];
};
/* An input or output of the model. */
struct engine_tensor {
	const char *name;
	enum type type;
	int rank;                   /* -1: unknown */
	int64_t dim[IR_MAX_RANK];   /* -1: dynamic */
	int64_t at[3][IR_MAX_RANK]; /* of an input: minimum, optimum and maximum */
};
struct engine_deploy {
	const char *model;          /* path of the rewritten model */
	const char *plan;           /* where the engine goes; null: the model's name with another ending */
	const char *const *library; /* paths */
	int libraries;
	const struct engine_extents *dynamic; /* inputs with dynamic extents */
	int dynamics;
	const struct engine_extents *given; /* if there are none: inputs whose extents the user gave */
	int givens;
	bool guessed;                               /* some of these extents are examples */
	bool half, byte;                            /* a plugin has float16, int8 tensors at its edge */
	const struct engine_tensor *input, *output; /* all of them, for `way` */
	int inputs, outputs;
	const struct engine_version *version;
};

/* A file that runs a rewritten model. */
enum { ENGINE_MOST_FILES = 4 };
struct engine_file {
	const char *name, *text;
};

/* ---- Errors that users meet. */

/* A text in a line of a log, of the engine or of a program around it; `*` stands for any text. */
struct engine_error {
	const char *text;
	const char *from;        /* the program that writes it: "Triton" */
	const char *cause, *fix; /* sentences */
};

/* ---- The engine. */

/* What else people call a way to run a model. */
struct engine_way_name {
	const char *other, *way;
};

struct engine {
	const char *name; /* for messages: "TensorRT" */

	/* The edge of a plugin. */
	int most_axes;           /* of a tensor at the edge */
	int most_shape_elements; /* of a shape input */
	/* Returns the type that a tensor of type `t` has at the edge, with casts if it differs; TYPE_NONE: no plugin
	 * can have such a tensor. */
	enum type (*edge)(const struct engine_version *v, enum type t);
	/* Returns the type as which two plugins exchange the bits of a tensor that nothing else reads, if the edge has
	 * another type, or none; TYPE_NONE: it is converted like all others. */
	enum type (*exchange)(const struct engine_version *v, enum type t);
	/* Returns the reason for TYPE_NONE, "TensorRT has no double", and advice. */
	const char *(*lack)(const struct engine_version *v, enum type t, const char **advice, struct arena *a);

	/* True if a network can have a tensor of this type as an input or output of this node. */
	bool (*takes_type)(const Onnx__NodeProto *node, enum type t);
	/* Returns the support for a node with these types, not counting its bodies. `reason`: a sentence, "" for yes.
	 * */
	enum engine_support (*support)(const struct engine_node *n, const char **reason, struct arena *a);

	/* Parses a version; null `text`: the default one. Errors: ERR_USAGE for text that is not a version,
	 * ERR_UNSUPPORTED for a version that cannot load tpat's plugins. */
	int (*version)(struct engine_version *out, const char *text, struct err *e);

	/* Writes all sources into `folder` (which exists and is empty), compiles the kernels, and links the library to
	 * the path `library`, which the caller may rename. Errors: ERR_UNSUPPORTED for a tensor that the engine cannot
	 * have (names it); ERR_DEVICE if a compiler is missing or fails; ERR_USAGE for files that cannot be written. */
	int (*build)(const struct engine_library *l, const char *folder, const char *library, struct arena *a,
	             struct err *e);
	/* Compiles kernels edited since their code was made, and links the library. Changes nothing in the folder. */
	int (*rebuild)(struct engine_again *r, struct arena *a, struct err *e);
	/* A file of the folder with checksums of the compiled kernels; stamp_now() returns its text for the current
	 * ones. */
	const char *stamp;
	int (*stamp_now)(struct str *out, const char *folder, struct err *e);
	const char *const *entry;                             /* functions that a library must export; ends with null */
	const struct engine_host *host;                       /* acts as the engine for a library */
	const struct engine_layout *layouts;                  /* ends with a null name; null: none */
	const struct language *language; /* of the kernels */ /* Sets the attributes of a node by which the engine finds
	                                                         the plugin. */
	void (*call)(struct onnx_model *m, Onnx__NodeProto *node, const struct engine_call *c);
	/* Prints the command that builds an engine of the rewritten model, with notes as shell comments. */
	void (*deploy)(struct str *out, const struct engine_deploy *d);
	/* Other ways to run it: their names, which a null ends, and the files of one. Returns their number. */
	const char *const *ways;
	const struct engine_way_name *way_names; /* ends with nulls */
	int (*way)(struct engine_file out[ENGINE_MOST_FILES], const struct engine_deploy *d, const char *way,
	           struct arena *a);
	/* Ends with a null text. The first that a line contains explains it. */
	const struct engine_error *errors;
};

extern const struct engine engine_tensorrt;

/* The tensor's axis that is axis `axis` in memory; -1: the channels' axis, or that of their blocks. */
int engine_layout_axis(const struct engine_layout *l, int rank, int axis);

/* Finds an engine by name; null: the first, the default. Null if there is none. */
const struct engine *engine_find(const char *name);
/* Finds the engine that looks up a function that the open library exports; null: there is none. */
const struct engine *engine_of_library(bool (*exports)(void *user, const char *function), void *user);

/* Fails if another version of tpat made the library at `path`: its tables cannot be read. */
int engine_check_tables(const struct tpat_rt_library *l, const char *path, struct err *e);

#endif
