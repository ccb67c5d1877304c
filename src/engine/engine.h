/* An inference engine that tpat makes plugins for, as one struct: what a plugin's edge takes, which nodes the engine
 * takes by itself, its versions, how a library of plugins is built, how the rewritten model calls a plugin, and what a
 * user does next. src/graph and src/lib ask this struct and know no engine. All that is one engine's stands in its
 * folder; docs/add-an-engine.md says what another one needs. */
#ifndef TPAT_ENGINE_ENGINE_H
#define TPAT_ENGINE_ENGINE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"
#include "engine/engine_host.h"
#include "gen/language.h"
#include "onnx/onnx.h"
#include "tensor/type.h"

/* ---- What it takes by itself. */

enum engine_support { ENGINE_NO, ENGINE_PARTLY, ENGINE_YES };

/* A tensor that a node reads or makes. */
struct engine_value {
	const char *name; /* "": there is none */
	enum type type;   /* TYPE_NONE: not known */
	bool known;       /* its value is known where the engine is built */
};

struct engine_node {
	const Onnx__NodeProto *proto;
	const char *domain; /* the operator's; OP_ANY_DOMAIN: a plugin of the engine's vendor, in whatever domain */
	bool inside;        /* in a function, or in a graph in one: nothing is known of its tensors */
	const struct engine_value *value; /* inputs, then outputs; null where it is `inside` */
};

/* ---- Versions. */

/* The version of the engine that a build is for. Texts are constants. */
struct engine_version {
	const char *name;         /* as the user wrote it; null: the usual ones */
	bool no_functions;        /* it takes a node's local function before its plugin: the model must have none */
	const char *shape_inputs; /* why no input's values can decide extents: a clause; null: they can */
	const char *warning;      /* where plugins cannot run at all: sentences; null: they can */
	const char *note;         /* what a rewritten model is good for, as a shell's comment */
};

/* ---- A library of plugins. */

/* One architecture to compile for: a cubin (sm_90), or PTX (compute_90) for that and all later ones. */
struct engine_arch {
	int arch;
	bool ptx;
};

struct engine_plugin {
	const char *name, *version, *name_space; /* as the model's nodes say them */
	const char *hash;                        /* of the program, ir_hash */
	const char *about;                       /* one line: "ConvInteger of x: u8[1,64,N,3], ..." */
	const char *decisions;                   /* of all plans, as text without names */
	const struct ir_plan *const *plan;       /* ways to run it, of one program; the first is the default */
	int plans;
	const char *const *node; /* labels of the nodes that it stands for */
	int nodes;
};

/* A library and what is said of it in its folder. File names only, no folders. */
struct engine_library {
	const char *generator; /* "tpat 0.1.0" */
	const char *model;     /* the original: "ocr.onnx" */
	const char *rewritten; /* "ocr_tpat.onnx" */
	const char *portable;  /* "ocr_tpat_portable.onnx", which has local functions; null: `rewritten` has them */
	const char *library;   /* "libtpat_ocr.so" */
	const char *deploy;    /* the commands that come next, for the README */
	const struct engine_plugin *plugin;
	int plugins;
	const struct engine_arch *arch;
	int archs;
	int workers; /* threads that compile; 0: one a processor */
	/* Called now and then, from any thread; true stops the work (ERR_USAGE, "interrupted"). May be null. */
	bool (*progress)(void *user, int done, int all, const char *what);
	/* Called when the build has failed: for each plugin whose kernels the compiler refused, and why, once an
	 * architecture. */
	void (*refused)(void *user, const struct engine_plugin *p, const char *why);
	void *user;
};

/* A folder whose kernels, tables or runtime somebody has edited, to be built again. */
struct engine_again {
	const char *folder, *work; /* the folder; an empty one, where everything is compiled */
	const char *library;       /* absolute path where to make the library */
	const char *const *plugin; /* names of the folder's plugins */
	int plugins;
	const struct engine_arch *arch;
	int archs, workers;
	bool (*progress)(void *user, int done, int all, const char *what); /* as above */
	void *user;
	struct {
		VEC(const char *);
	} made; /* files under `work` that belong into the folder, by the same names: compiled code, and the stamp */
};

/* ---- The rewritten model. */

/* What a node that calls a plugin says besides its name and tensors. */
struct engine_call {
	const char *version, *name_space;
	const int *shape_input; /* the inputs that are read for their values, which decide extents */
	int shape_inputs;
};

/* What a user builds next. `shape`: "1x4", the smallest, the usual, the largest. */
struct engine_extents {
	const char *name;
	const char *shape[3];
};
struct engine_deploy {
	const char *model;          /* path of the rewritten model */
	const char *const *library; /* paths */
	int libraries;
	const struct engine_extents *dynamic; /* inputs whose extents are open */
	int dynamics;
	const struct engine_extents *given; /* where none is: inputs whose extents the user gave */
	int givens;
	bool guessed; /* some of these extents nobody gave */
	const struct engine_version *version;
};

/* ---- The engine. */

struct engine {
	const char *name; /* for messages: "TensorRT" */

	/* The edge of a plugin. */
	int most_axes;           /* of a tensor there */
	int most_shape_elements; /* of an input that is read for its values */
	/* The type that a tensor of type `t` has there, cast before and after where it is another one; TYPE_NONE: no
	 * plugin can have such a tensor. */
	enum type (*edge)(enum type t);
	/* Why it can have none: "TensorRT has no double"; and what to do. */
	const char *(*lack)(enum type t, const char **advice, struct arena *a);

	/* Whether a network can have a tensor of the type where this node reads or makes it. */
	bool (*takes_type)(const Onnx__NodeProto *node, enum type t);
	/* Whether it takes a node of such types; says nothing of the graphs in its attributes. `reason`: a sentence,
	 * "" for yes. */
	enum engine_support (*support)(const struct engine_node *n, const char **reason, struct arena *a);

	/* `text` null: the usual version. Errors: ERR_USAGE for what is no version, ERR_UNSUPPORTED for one that takes
	 * no plugins of tpat's. */
	int (*version)(struct engine_version *out, const char *text, struct err *e);

	/* Write all sources into `folder` (which exists and is empty), compile the kernels, and the library to
	 * `library`, a path that is the caller's to rename. Errors: ERR_UNSUPPORTED for what the engine has no place
	 * for (names the tensor); ERR_DEVICE where a compiler is missing or fails; ERR_USAGE for files that cannot be
	 * written. */
	int (*build)(const struct engine_library *l, const char *folder, const char *library, struct arena *a,
	             struct err *e);
	/* Compiles what was edited since its code was made, and the library. Changes nothing in the folder. */
	int (*rebuild)(struct engine_again *r, struct arena *a, struct err *e);
	/* A file of the folder that says from which kernels its code was made, and what it would say now. */
	const char *stamp;
	int (*stamp_now)(struct str *out, const char *folder, struct err *e);
	const char *const *entry;        /* functions that a library must export; ends with null */
	const struct engine_host *host;  /* plays the engine toward a library */
	const struct language *language; /* of the kernels */

	/* Sets a node's attributes, so that the engine finds the plugin. */
	void (*call)(struct onnx_model *m, Onnx__NodeProto *node, const struct engine_call *c);
	/* The command that builds an engine of the rewritten model, with notes as a shell's comments. */
	void (*deploy)(struct str *out, const struct engine_deploy *d);
};

extern const struct engine engine_tensorrt;

/* By its name; null: the first, which is what a model is for where nobody says another. Null where there is none. */
const struct engine *engine_find(const char *name);

#endif
