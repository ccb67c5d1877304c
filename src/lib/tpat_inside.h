/* What the files of src/lib/ share: the context, names of outputs, options that are texts. */
#ifndef TPAT_LIB_TPAT_INSIDE_H
#define TPAT_LIB_TPAT_INSIDE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/staging.h"
#include "base/str.h"
#include "base/vec.h"
#include "check/verify.h"
#include "dev/dev.h"
#include "engine/engine.h"
#include "graph/graph.h"
#include "sched/sched.h"
#include "tpat/tpat.h"

struct tpat {
	struct arena *own;   /* holds this struct */
	struct arena *arena; /* of the last call's results */
	struct err err;
	void (*cleanup)(void *arg); /* of the call that runs; called when it ends, however it does */
	void *cleanup_arg;
};

struct tpat_texts {
	VEC(const char *);
};
static inline struct tpat_strings tpat_strings_of(const struct tpat_texts *t)
{
	return (struct tpat_strings){ t->at, t->n };
}

/* Starts a call: forgets the last one's results, runs `fn`, and turns running out of memory into a failure. */
int tpat_call(struct tpat *t, int (*fn)(struct tpat *t, void *arg), void *arg);

/* A model, read and checked, with types and shapes; `value` makes inputs constants. Both freed by the caller, also
 * after a failure. */
int tpat_open(struct onnx_model **model, struct graph **graph, const char *path, const struct tpat_strings *shape,
              const struct tpat_strings *value, struct arena *a, struct err *e);

/* Error for a device whose times say nothing about a GPU. */
int tpat_refuse_emulator(const char *device, struct err *e);

/* ---- tpat_choose.c: the nodes that options name, as tpat_build_options says. */
struct tpat_choice {
	const struct tpat_strings *node, *type, *region, *except;
	bool automatic;
};
bool tpat_chooses(const struct tpat_choice *c); /* whether anything is named */
int tpat_choose(struct graph_regions *out, struct graph *g, const struct tpat_choice *c, struct arena *a,
                struct err *e);
/* Every node that tpat can take and whose result is not known beforehand, each as a region of its own; in a body, where
 * the node that holds it cannot be taken. */
int tpat_choose_all(struct graph_regions *out, struct graph *g, struct arena *a, struct err *e);

/* ---- tpat_text.c: options that are texts. */

/* "x:1x3xHxW" or "x:N,3,H,W". */
int tpat_parse_shape(struct graph_shape *out, const char *text, struct arena *a, struct err *e);
/* The architectures that `asked` names; needs NVRTC, and a GPU for "native". */
int tpat_parse_archs(struct engine_arch **out, int *n, const struct tpat_strings *asked, struct arena *a,
                     struct err *e);
/* "f32[4,3], f32[3]": types and extents of tensors. */
const char *tpat_tensors_text(const struct tensor *t, int n, struct arena *a);
/* "types of these values", for messages and lists: "f32[N,3], f32[3]". */
const char *tpat_types_text(struct graph *g, char *const *name, size_t n, struct arena *a);

/* ---- tpat_given.c: tensors that the user gives, "x=FILE.npy" (or .npz, .pb). */
struct tpat_given_tensor {
	const char *name;
	struct tensor tensor;
	bool used; /* somebody has asked for it */
};
struct tpat_given {
	VEC(struct tpat_given_tensor);
};
int tpat_given_read(struct tpat_given *out, const struct tpat_strings *text, struct arena *a, struct err *e);
const struct tensor *tpat_given_find(struct tpat_given *given, const char *name); /* null: not given */
const char *tpat_given_unused(const struct tpat_given *given); /* a name that nobody asked for, or null */

/* ---- tpat_value.c: tensors that the user gives as text, "sr=16000". */

/* The inputs of these names become constants of the model, of the inputs' types and extents. */
int tpat_bind_values(struct onnx_model *m, const struct tpat_strings *value, struct arena *a, struct err *e);
/* The name in front; and the value as a tensor of a type and extents (-1: any; `rank` -1: as it is written). */
int tpat_value_name(const char **name, const char *text, struct arena *a, struct err *e);
int tpat_value_read(struct tensor *out, const char *text, enum type type, int rank, const int64_t *dim, struct arena *a,
                    struct err *e);

/* ---- tpat_target.c: the GPU whose facts decide how kernels are made. */

/* `gpu`: a name of the table (sched_targets), words of it, "native", or null: what `arch` names, if it is one alone. */
int tpat_target(struct sched_target *out, const char *gpu, const struct tpat_strings *arch, struct arena *a,
                struct err *e);
void tpat_target_of_device(struct sched_target *out, const struct dev_props *props);
/* Gives the target the constants in the file that TPAT_CALIBRATION names, if they are its architecture's. Memory is
 * a's. */
int tpat_target_calibrate(struct sched_target *t, struct arena *a, struct err *e);

/* ---- tpat_why.c: what the rules say of each stage of a program. `chosen`: one a stage, as sched_decide() takes it, or
 * null: the cost model's. Memory is a's. */
const struct tpat_schedule *tpat_why(const char *what, struct ir_program *p, const struct sched_target *t,
                                     const struct sched_choice *chosen, struct arena *a);

/* ---- tpat_earlier.c: libraries of earlier builds, which lie beside a model that was rewritten more than once. */
bool tpat_library_holds(const char *library, const char *plugin);
/* A library in `folder` that has the plugin, or null; and the folder of its sources, or null. */
const char *tpat_library_find(const char *folder, const char *plugin, struct arena *a);
const char *tpat_folder_find(const char *folder, const char *plugin, struct arena *a);

/* ---- tpat_output.c: where a build's results go. They are made in a hidden folder and put in place together. */
struct tpat_output {
	const char *model, *library, *folder; /* their places; `library` without a plugin's own name */
	const char *portable;                 /* the model with functions, where `model` has none; else null */
	const char *made_folder;              /* where the folder is being made */
	struct tpat_texts libraries;          /* places of the libraries */
	bool force;                           /* work that somebody did in the folder is thrown away */
	struct stage stage;
	struct arena *arena;
};
/* What belongs to the rewritten model `model`: its library and folder, by name. */
void tpat_output_names(struct tpat_output *out, const char *model, struct arena *a);
/* The place of one plugin's library, where each has its own. */
const char *tpat_output_split(const struct tpat_output *o, const char *plugin, struct arena *a);
/* Names of everything that a build of `input` gives when the model goes to `model` (null: INPUT_tpat.onnx). Finishes or
 * undoes first what an interrupted build has begun there. Errors: ERR_USAGE for a place that cannot be written, or that
 * would overwrite what tpat did not make. */
int tpat_output_begin(struct tpat_output *out, const char *input, const char *model, bool force, struct arena *a,
                      struct err *e);
/* A second model beside `model`, which has local functions; errors as above. */
int tpat_output_portable(struct tpat_output *o, const char *input, struct arena *a, struct err *e);
/* NAME.onnx -> NAME_portable.onnx. */
const char *tpat_portable_name(const char *model, struct arena *a);
/* Forgets what was made so far, to make it once more. */
int tpat_output_restart(struct tpat_output *o, struct err *e);
/* One more library that goes to `place`; returns the absolute path where to make it. */
const char *tpat_output_library(struct tpat_output *o, const char *place);
/* Writes the model; then library, folder and model are put in place, or all stays as it was. */
int tpat_output_commit(struct tpat_output *o, struct onnx_model *m, struct err *e);
void tpat_output_abandon(struct tpat_output *o);

/* ---- tpat_record.c: the files of a .tpat folder as tpat made them, by hashes in its tpat.json. */

/* Adds them to the tpat.json of a folder that was just made. */
int tpat_record_write(const char *folder, struct arena *a, struct err *e);
/* Files of the folder that were edited ("kernels/x.cu (edited)") or added ("notes (new)"), in order. Compiled code, and
 * the library that `make` leaves in the folder, are nobody's work. */
int tpat_record_changes(struct tpat_texts *out, bool *recorded, const char *folder, struct arena *a, struct err *e);
/* Fails when replacing the folder would lose work, or when tpat did not make it. `force`: the latter alone. */
int tpat_record_check(const char *folder, bool force, struct arena *a, struct err *e);
/* Finishes or undoes what interrupted builds began in `folder`, unless that would delete work in a .tpat folder. */
enum tpat_recovery { TPAT_RECOVER, TPAT_RECOVER_FORCE, TPAT_RECOVER_UNDO, TPAT_RECOVER_LOOK };
int tpat_recover(struct stage_left *out, const char *folder, enum tpat_recovery how, struct arena *a, struct err *e);
/* The tpat.json of a .tpat folder. */
struct json;
int tpat_record_read(const struct json **out, const char *folder, struct arena *a, struct err *e);

/* ---- tpat_db.c: the tuning database's file: `given`, or the default one. */
int tpat_db_path(const char **out, const char *given, struct arena *a, struct err *e);

/* ---- tpat_tuned.c: what a build takes from the tuning database. */
struct tpat_tuned;
/* `given`: its file; null: the default one. `must`: an error when it cannot be read, else *warning says so (null: all
 * is well, or there is none yet). To be closed in any case. */
int tpat_tuned_open(struct tpat_tuned **out, const char *given, bool must, const char **warning, struct arena *a,
                    struct err *e);
void tpat_tuned_of_processor(struct tpat_tuned *x);      /* from here on: what the device cpu took, not a GPU */
void tpat_tuned_close(struct tpat_tuned *x);             /* null is fine */
const char *tpat_tuned_path(const struct tpat_tuned *x); /* null: there is none */
struct tpat_tuned_choice {
	const struct sched_choice *choice; /* one a stage, for sched_decide; null: nothing is known of this program */
	bool near;                         /* measured at other extents */
	double ns;
	const char *shape, *device; /* that it was measured at, and on */
	int passed_over;            /* faster ones that can no longer be built */
};
/* At the extents of `t`; `exactly`: only what was measured at these, on this GPU. */
int tpat_tuned_find(struct tpat_tuned_choice *out, struct tpat_tuned *x, struct ir_program *p, const char *hash,
                    const struct sched_target *t, bool exactly, struct err *e);

/* ---- tpat_profile.c: extents that the user expects. */
enum { TPAT_PROFILE_SHAPES = 3 }; /* smallest, usual, largest */
struct tpat_profile {
	const struct graph_value *input;
	struct graph_shape shape[TPAT_PROFILE_SHAPES];
};
/* "x:1x4,8x4,32x4", checked against the model. */
int tpat_profile_read(struct tpat_profile *out, struct graph *g, const char *profile, struct arena *a, struct err *e);
/* The shapes that `profile` says of an input, as text; null when it says none. */
const char *tpat_profile_of(const struct tpat_strings *profile, const char *name);
/* What all profiles say of the model's symbols; and the points for which a region's program `p` is scheduled: the
 * profiles' extents, for symbols that they do not name the usual ones. */
struct tpat_extents;
int tpat_profile_extents(struct tpat_extents **out, struct graph *g, const struct tpat_strings *profile,
                         struct arena *a, struct err *e);
struct sched_points tpat_profile_points(struct tpat_extents *x, const struct sched_target *t,
                                        const struct graph_region *r, struct ir_program *p);

/* The value of a symbol at a point (a struct sched_target), as an ir_symbol_fn. */
bool tpat_extent_at(void *target, const char *name, int64_t *value);
/* The extents of an input of a program at a point; rank -1 where they cannot be. */
void tpat_extents_of(struct verify_input *in, const struct ir_buffer *b, const struct sched_target *t);

/* tpat_example.c: extents for symbols that no profile names, which fit what the model's operators demand. `level`: 0
 * smallest, 1 usual, 2 largest. */
struct tpat_example;
int tpat_example(struct tpat_example **out, struct graph *g, const struct tpat_strings *profile, struct arena *a,
                 struct err *e);
int64_t tpat_example_extent(struct tpat_example *x, expr extent, int level);

/* tpat_shapes.c: writes the shapes that the user gives ("x:1x3x320x320") into the model's inputs. */
int tpat_write_shapes(struct onnx_model *m, const struct tpat_strings *shape, struct arena *a, struct err *e);

/* tpat_deploy.c: the engine's command for the rewritten model `model`, whose inputs are the graph's, with these
 * libraries; and a note on the version that it is for. Also checks `profile` ("x:1x4,8x4,32x4"). `shape`: what the user
 * gave of inputs. */
int tpat_deploy_text(const char **out, struct graph *g, const char *model, const struct tpat_texts *libraries,
                     const struct tpat_strings *profile, const struct tpat_strings *shape,
                     const struct engine_version *version, struct arena *a, struct err *e);

#endif
