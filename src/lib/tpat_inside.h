/* Shared by the files of src/lib/: the context, names of outputs, options given as text. */
#ifndef TPAT_LIB_TPAT_INSIDE_H
#define TPAT_LIB_TPAT_INSIDE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/staging.h"
#include "base/str.h"
#include "base/vec.h"
#include "check/verify.h"
#include "dev/dev.h"
#include "engine/engine.h"
#include "graph/graph.h"
#include "sched/sched.h"
#include "tpat/tpat.h"

/* tpat_talk.c: the context's callbacks. Null is fine for all of these: no callbacks. */
struct tpat_talk {
	struct tpat_callbacks call;
	struct lock *lock; /* of `log`, which one thread at a time calls */
};
bool tpat_stops(const struct tpat_talk *x); /* asks `cancel`; any thread */
int tpat_cancelled(struct err *e);          /* sets the error of a call that stops: ERR_CANCELLED */
/* Tells `log` a line, without its end; any thread. */
void tpat_say(struct tpat_talk *x, enum tpat_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* The same for the session of a run. */
struct run_session;
void tpat_watch(struct run_session *s, struct tpat_talk *x);

/* tpat_advice.c: advises what to do about an input file that cannot be opened, unless the error has advice. */
void tpat_advise_file(struct err *e, struct arena *a);

/* tpat_log.c: reads a log as UTF-8. ERR_MODEL for a file that is no text. */
int tpat_log_read(char **text, size_t *size, const char *path, struct arena *a, struct err *e);

struct tpat {
	struct arena *own;   /* holds this struct */
	struct arena *arena; /* of the last call's results */
	struct err err;
	void (*cleanup)(void *arg); /* of the running call; runs when it ends, also on failure */
	void *cleanup_arg;
	struct tpat_talk talk;
};

struct tpat_texts {
	VEC(const char *);
};
static inline struct tpat_strings tpat_strings_of(const struct tpat_texts *t)
{
	return (struct tpat_strings){ t->at, t->n };
}

/* Runs a call: frees the last one's results, runs `fn`, and turns running out of memory into an error. */
int tpat_call(struct tpat *t, int (*fn)(struct tpat *t, void *arg), void *arg);

/* Reads and checks a model, and infers types and shapes; `value` makes inputs constants. The caller frees both, also
 * after a failure. */
int tpat_open(struct onnx_model **model, struct graph **graph, const char *path, const struct tpat_strings *shape,
              const struct tpat_strings *value, const char *version, struct arena *a, struct err *e);
/* The same with more options. */
struct tpat_open_options;
int tpat_open_as(struct onnx_model **model, struct graph **graph, const char *path,
                 const struct tpat_open_options *open, const struct tpat_strings *value, struct arena *a,
                 struct err *e);

/* The graph of a model that is open already, after its nodes have changed. */
struct tpat_open_options {
	const struct tpat_strings *shape;
	const char *version; /* of the engine; null: the default */
	bool run;            /* tpat itself runs the model: see graph_options.engine_ranks */
};
int tpat_graph(struct graph **graph, struct onnx_model *model, const struct tpat_open_options *open, struct arena *a,
               struct err *e);

/* Opens a device that runs kernels, and describes it for schedules. *out null: the interpreter ("interpreter"). `name`:
 * as tpat_run_options.device. */
int tpat_open_device(struct dev **out, struct sched_target *target, const char *name, struct err *e);

/* Fails for a device whose times say nothing about a GPU. */
int tpat_refuse_emulator(const char *device, struct err *e);

/* ---- tpat_choose.c: the nodes that options select, see tpat_build_options. */
struct tpat_choice {
	const struct tpat_strings *node, *type, *region, *except;
	bool automatic;
	const struct tpat_strings *from, *to, *pattern; /* null: none */
	bool all;
	bool fast;                          /* with `automatic`: see graph_selection.fast */
	const char *min_gain;               /* as text; null: the usual one */
	const struct tpat_strings *profile; /* for estimates of `automatic`; null: none */
	const struct sched_target *target;  /* the same; null: the default GPU */
	int plain;                          /* number of nodes that need no plugin any more: see tpat_decompose() */
	int chains;                         /* with `fast`: the most chains; 0: any number */
};
bool tpat_chooses(const struct tpat_choice *c); /* true if any node is selected */
int tpat_choose(struct graph_regions *out, struct graph *g, const struct tpat_choice *c, struct arena *a,
                struct err *e);
/* Makes a region of each supported node whose result is not constant; in a body, only if the node that holds it is
 * unsupported. */
int tpat_choose_all(struct graph_regions *out, struct graph *g, struct arena *a, struct err *e);

/* ---- tpat_refused.c: what keeps a node from being a plugin, with advice; null: nothing does, or it is one with the
 * node around its graph, which knows its shapes, as for turns of a loop. `together`: --auto takes it with the nodes
 * around it. */
const char *tpat_why_not(const char **advice, const struct graph *g, const struct graph_node *n, bool together,
                         struct arena *a);

/* The tensor that keeps a supported node from being a plugin by itself; null: none does. Results known at build time
 * need no plugin. */
const struct graph_value *tpat_misfit(const struct graph *g, const struct graph_node *n);
/* True if the graph is inside a supported node. */
bool tpat_goes_along(const struct graph *g);

/* Selects only; an empty selection is no error. */
int tpat_select(struct graph_regions *out, struct graph_rates *rates, struct graph *g, const struct tpat_choice *c,
                struct arena *a, struct err *e);

/* ---- tpat_plain.c: nodes of the engine's own in place of those that it refuses. */
struct tpat_named {
	Onnx__NodeProto *node;
	char *name; /* in the user's model */
};
struct tpat_plain {
	const struct tpat_plain_node *node; /* those replaced */
	int n;
	struct {
		VEC(struct tpat_named);
	} named; /* nodes that have their label as a name meanwhile */
};
/* The nodes that graph_open() replaced. */
const struct tpat_plain_node *tpat_replaced(const struct graph *g, int *n, struct arena *a);
/* Replaces nodes of the model, and the graph by that of the new model. `out` has those of graph_open(), too. `how`: as
 * tpat_build_options.decompose. Without c->automatic it does nothing. */
int tpat_decompose(struct tpat_plain *out, struct graph **graph, const struct tpat_open_options *open,
                   const struct tpat_choice *c, const char *how, struct arena *a, struct err *e);
/* Gives nodes the names back that they had in the user's model, before it is written. */
void tpat_plain_restore_names(const struct tpat_plain *p);

/* tpat_report.c: notes which nodes an engine refused, from its log; null: no log. Errors: ERR_USAGE for a log that
 * names no node of the model. */
int tpat_engine_report(struct graph *g, const char *path, struct arena *a, struct err *e);

/* ---- tpat_join.c: rates of a GPU (null: the default one) for joining nodes, at the optimum of the profiles. */
int tpat_rates(struct graph_rates *out, struct graph *g, const struct sched_target *t,
               const struct tpat_strings *profile, struct arena *a, struct err *e);
/* ---- tpat_fast.c: the least gain of a plugin for nodes that the engine runs itself: a share of their time, and
 * nanoseconds; and the most such plugins, 0: any number. */
struct tpat_gain {
	double share, ns;
	int chains;
};
/* Reads "20%", "5us" or "0"; null: the usual gain. */
int tpat_gain_read(struct tpat_gain *out, const char *text, struct err *e);
/* Leaves out regions of `fast` that gain less by the estimate, or keeps parts of them. */
void tpat_keep_worth(struct graph_regions *r, const struct graph_rates *rates, const struct sched_target *t,
                     const struct tpat_gain *gain, struct arena *a);

/* Cuts joined regions that cannot be lowered as one program, and leaves out nodes that cannot be lowered alone, with a
 * warning; an error if none is left. */
int tpat_settle(struct graph_regions *r, const struct graph_rates *rates, struct arena *a, struct err *e);

/* ---- tpat_text.c: options given as text. */

/* "x:1x3xHxW" or "x:N,3,H,W". */
int tpat_parse_shape(struct graph_shape *out, const char *text, struct arena *a, struct err *e);
/* Parses the architectures in `asked`; needs NVRTC, and a GPU for "native". `machine`: of the library; null: this one.
 */
int tpat_parse_archs(struct engine_arch **out, int *n, const struct tpat_strings *asked, const struct machine *machine,
                     struct arena *a, struct err *e);
/* "f32[4,3], f32[3]": types and extents of tensors. */
const char *tpat_tensors_text(const struct tensor *t, int n, struct arena *a);
/* "f32[N,3], f32[3]": types of these values, for messages and lists. */
const char *tpat_types_text(struct graph *g, char *const *name, size_t n, struct arena *a);

/* ---- tpat_lists.c: options for several tensors in one text, as trtexec takes them. */

/* Splits "a:1x2,b:3x4" into "a:1x2" and "b:3x4", and profiles likewise. Names may hold commas and colons: `has` tells
 * which tensors exist, and a text that fits one of them stays whole. Quotes around a name ('a:0':1x2) are left out. A
 * text without such tensors is split where it looks like a list, so that messages name the right part. */
typedef bool (*tpat_has_fn)(const void *of, const char *name);
struct tpat_strings tpat_split_lists(const struct tpat_strings *text, tpat_has_fn has, const void *of, struct arena *a);
/* The same for inputs of a model. */
struct tpat_strings tpat_split_inputs(const struct tpat_strings *text, const struct onnx_model *m, struct arena *a);

/* ---- tpat_given.c: tensors from the user's files, "x=FILE.npy" (or .npz, .pb). */
struct tpat_given_tensor {
	const char *name;
	struct tensor tensor;
	bool raw;  /* of a type that NumPy cannot name, as bfloat16: see npy.h */
	bool used; /* it has been looked up */
};
struct tpat_given {
	VEC(struct tpat_given_tensor);
};
/* Reads a file of one tensor. */
int tpat_tensor_read(struct tensor *out, const char *path, struct arena *a, struct err *e);
/* Appends tensors. "FILE.npz" without a tensor's name is all arrays of the file; another file without one is the tensor
 * `only`, if that is not null. */
int tpat_given_read(struct tpat_given *out, const struct tpat_strings *text, const char *only, struct arena *a,
                    struct err *e);
/* Gives raw elements of the tensor the type. */
int tpat_given_type(struct tpat_given *given, const char *name, enum type type, struct arena *a, struct err *e);
const struct tensor *tpat_given_find(struct tpat_given *given, const char *name); /* null: not given */
const char *tpat_given_unused(const struct tpat_given *given);                    /* a name never looked up, or null */

/* ---- tpat_run_compare.c: compares the graph's outputs with the files that `o` names, and notes the result in `r`.
 * ERR_DIFFER if they differ; ERR_USAGE for files that do not fit the outputs. */
int tpat_run_compare(struct tpat_ran *r, const struct tpat_run_options *o, const struct graph *g,
                     const struct tensor *out, struct arena *a, struct err *e);
/* tpat_run_measure.c: times the last runs of the phases' sessions. */
struct run_session;
struct tpat_run_sessions {
	VEC(struct run_session *);
};
int tpat_run_measure(struct tpat_ran *r, const struct tpat_run_options *o, const struct tpat_run_sessions *all,
                     struct arena *a, struct err *e);

/* tpat_run_trace.c: writes the launches as Chrome's trace events, one after another. */
int tpat_run_trace(const char *path, const char *model, const struct tpat_ran *r, struct arena *a, struct err *e);

/* ---- tpat_phases.c: models in which the values of integers decide extents. */

enum { TPAT_MOST_PHASES = 256 };

/* What a phase computes: values that may decide the extents in nodes that cannot be lowered without them, the integers
 * or else few floats, which become constants; then other tensors made on the way, which later nodes read and which
 * become inputs. */
struct tpat_phase_end {
	struct graph_value **value;
	int constants, n;
};
/* Finds them; all can be computed. None: this is the last phase. Fails for a node in the way that reads no such values.
 */
int tpat_phase_end(struct tpat_phase_end *out, const struct graph *g, struct arena *a, struct err *e);
/* Makes a tensor of the model a constant, or an input with the extents of this one. */
void tpat_phase_bind(struct onnx_model *m, const char *name, const struct tensor *t);
void tpat_phase_give(struct onnx_model *m, const char *name, const struct tensor *t);

/* The phases of a session. `m`: the model, whose file is read again; all three must outlive them. */
struct run_device;
struct run_tensor;
struct tpat_phases;
struct tpat_phases *tpat_phases_new(const struct run_device *on, const struct onnx_model *m,
                                    const struct tpat_strings *value, struct arena *a);
void tpat_phases_free(struct tpat_phases *x); /* null is fine */
/* Returns an input of the model, on the host. */
typedef int (*tpat_input_fn)(struct tensor *out, void *user, const char *name, struct err *e);
/* Runs all phases but the last for inputs of these shapes, and returns the last one's session and graph, whose inputs
 * are some of the model's and tensors that tpat_phases_kept() returns. They live until the next such call. */
int tpat_phases_run(struct run_session **run, struct graph **graph, struct tpat_phases *x,
                    const struct graph_shape *shape, int shapes, tpat_input_fn input, void *user,
                    struct tpat_talk *talk, struct err *e);
/* The tensor of that name, which a phase has made in the last such call; or null. */
const struct run_tensor *tpat_phases_kept(const struct tpat_phases *x, const char *name);

/* ---- tpat_value.c: tensors from the user's text, "sr=16000". */

/* Makes the named inputs constants of the model, with their declared types and extents. */
/* Says that the model has no such input as `option` names in `text`, and which it has. */
int tpat_no_input(const struct onnx_model *m, const char *option, const char *text, const char *name, struct arena *a,
                  struct err *e);
int tpat_bind_values(struct onnx_model *m, const struct tpat_strings *value, struct arena *a, struct err *e);
/* tpat_value_name() returns the name before "=", tpat_value_read() the value as a tensor of this type and shape (extent
 * -1: any; `rank` -1: as written). */
int tpat_value_name(const char **name, const char *text, struct arena *a, struct err *e);
int tpat_value_read(struct tensor *out, const char *text, enum type type, int rank, const int64_t *dim, struct arena *a,
                    struct err *e);

/* ---- tpat_gpu.c: GPUs of the table (sched_targets) by name. */

/* Returns the first GPU with that name, or with these words in its name, ignoring case ("orin nx"); or null. */
const struct sched_target *tpat_gpu_named(const char *name);
/* Returns the GPU of the architecture with the longest name that occurs in the driver's name ("NVIDIA GeForce RTX
 * 4090"), or null. */
const struct sched_target *tpat_gpu_in(const char *name, int arch);

/* ---- tpat_target.c: the GPU for which kernels are scheduled. */

/* `gpu`: a name in the table (sched_targets), some of its words, "native", or null: the GPU of `arch` if that is a
 * single one. */
int tpat_target(struct sched_target *out, const char *gpu, const struct tpat_strings *arch, struct arena *a,
                struct err *e);
void tpat_target_of_device(struct sched_target *out, const struct dev_props *props);
/* Applies the constants in the file that TPAT_CALIBRATION names, if they are for the target's architecture. Memory
 * comes from `a`. */
int tpat_target_calibrate(struct sched_target *t, struct arena *a, struct err *e);

/* ---- tpat_why.c: how the rules judge each stage of a program. `chosen`: one choice for each stage, as for
 * sched_decide(); null: the cost model's. Memory comes from `a`. */
const struct tpat_schedule *tpat_why(const char *what, struct ir_program *p, const struct sched_target *t,
                                     const struct sched_choice *chosen, struct arena *a);

/* ---- tpat_earlier.c: libraries of earlier builds, next to a model that was rewritten more than once. */
bool tpat_library_holds(const char *library, const char *plugin);
/* Returns the library that should hold a plugin of a rewritten model, which need not exist, and the folder of its
 * sources. `search`: among those next to the model if its own library is of another build. */
const char *tpat_library_of(const char **folder, const char *model, const char *plugin, bool search, struct arena *a);
/* Finds a library in `folder` that has the plugin, and the folder of its sources; null if there is none. */
const char *tpat_library_find(const char *folder, const char *plugin, struct arena *a);
const char *tpat_folder_find(const char *folder, const char *plugin, struct arena *a);

/* ---- tpat_output.c: places of a build's results. They are made in a hidden folder and moved into place together. */
struct tpat_output {
	const char *model, *library, *folder; /* final paths; `library` if all plugins share one */
	const char *portable;                 /* the model with functions, if `model` has none; else null */
	const char *made_folder;              /* temporary path of the folder */
	struct tpat_texts libraries;          /* final paths of the libraries */
	bool force;                           /* discard edits in the folder */
	struct stage stage;
	struct arena *arena;
};
/* Returns the path of the rewritten model of `input`, if the user names none. */
const char *tpat_output_model(const char *input, struct arena *a);
/* Sets the library and folder names that belong to the rewritten model `model`. */
void tpat_output_names(struct tpat_output *out, const char *model, struct arena *a);
/* Returns the path of one plugin's library, if each has its own. */
const char *tpat_output_split(const struct tpat_output *o, const char *plugin, struct arena *a);
/* Sets all paths for a build of `input` that writes the model to `model` (null: INPUT_tpat.onnx). First finishes or
 * undoes an interrupted build there. Errors: ERR_USAGE for a path that cannot be written, or a file that tpat did not
 * make. */
int tpat_output_begin(struct tpat_output *out, const char *input, const char *model, bool force, struct arena *a,
                      struct err *e);
/* Adds a second model, next to `model`, that has local functions. Errors as above. */
int tpat_output_portable(struct tpat_output *o, const char *input, struct arena *a, struct err *e);
/* NAME.onnx -> NAME_portable.onnx. */
const char *tpat_portable_name(const char *model, struct arena *a);
/* Discards the results so far, to make them again. */
int tpat_output_restart(struct tpat_output *o, struct err *e);
/* Adds a library with the final path `place`; returns the absolute path where to make it. */
const char *tpat_output_library(struct tpat_output *o, const char *place);
/* Writes the model, then moves library, folder and model into place; on failure nothing changes. */
int tpat_output_commit(struct tpat_output *o, struct onnx_model *m, struct err *e);
void tpat_output_abandon(struct tpat_output *o);

/* ---- tpat_record.c: the files of a .tpat folder as tpat made them, by hashes in its tpat.json. */

/* Adds the hashes to the tpat.json of a new folder. */
int tpat_record_write(const char *folder, struct arena *a, struct err *e);
/* Files of the folder that were edited ("kernels/x.cu (edited)") or added ("notes (new)"), in order. Ignores compiled
 * code, and the library that `make` leaves in the folder. */
int tpat_record_changes(struct tpat_texts *out, bool *recorded, const char *folder, struct arena *a, struct err *e);
/* Fails if replacing the folder would lose edits, or if tpat did not make it. `force`: only the latter. */
int tpat_record_check(const char *folder, bool force, struct arena *a, struct err *e);
/* Finishes or undoes interrupted builds in `folder`, unless that would delete edits in a .tpat folder. */
enum tpat_recovery { TPAT_RECOVER, TPAT_RECOVER_FORCE, TPAT_RECOVER_UNDO, TPAT_RECOVER_LOOK };
int tpat_recover(struct stage_left *out, const char *folder, enum tpat_recovery how, struct arena *a, struct err *e);
/* Reads the tpat.json of a .tpat folder. */
struct json;
int tpat_record_read(const struct json **out, const char *folder, struct arena *a, struct err *e);
/* Finds the engine that such a folder is for. Folders of earlier tpats do not say it: they are for the first. */
int tpat_record_engine(const struct engine **out, const struct json *record, const char *folder, struct err *e);

/* ---- tpat_rebuild.c: reads from a folder's tpat.json its engine, and what engine.rebuild needs: architectures and
 * plugins. r->folder is set already. */
int tpat_again_read(struct engine_again *r, const struct engine **engine, const struct json *record, struct arena *a,
                    struct err *e);

/* ---- tpat_edited.c: an edited kernel text and the build that it belongs to. */
struct tpat_edited {
	const char *source;        /* path of the text, as given */
	const char *folder;        /* the build's: NAME.tpat, or NAME.tpat/PLUGIN */
	const char *plugin, *text; /* the plugin, and the name in kernels/ that the text has or replaces */
	bool inside;               /* it is that text itself */
	const struct json *record, *steps, *tactics;
};
/* Finds them. `folder`: null: the one that the file is in. `node`: the plugin, one of the original nodes, or an index
 * or an output of the rewritten model; null: by the file's name. Errors: ERR_USAGE for a file of no build or plugin, or
 * one that lacks a kernel of the text that it replaces. */
int tpat_edited_find(struct tpat_edited *out, const char *file, const char *folder, const char *node, struct arena *a,
                     struct err *e);
/* The edited kernels of the text that the plugin may launch and `launched` does not have; adds them to it. If the
 * folder's own text was edited, all of its kernels count as edited. */
int tpat_edited_unused(struct tpat_strings *out, const struct tpat_edited *x, struct map *launched, struct arena *a,
                       struct err *e);
/* The path of a file of the build, "rewritten" or "library" in its tpat.json, next to its folder. Errors: ERR_MODEL. */
int tpat_edited_place(const char **out, const struct tpat_edited *x, const char *what, struct arena *a, struct err *e);
/* Makes the folder `view`: links to the files of a build, and copies of `n` edited texts of it. ERR_USAGE if two are of
 * one name. */
int tpat_edited_view(const struct tpat_edited *x, int n, const char *view, struct arena *a, struct err *e);

/* ---- tpat_verify.c: a verification with another library. */
struct tpat_verification;
struct tpat_verify_edit {
	const char *library, *folder; /* of all plugins, and the folder of its sources */
	int times;                    /* as verify_case.times */
	struct map *launched;         /* gets the names of kernels that ran, unless on a GPU; or null */
};
/* As tpat_verify(). Always close. */
int tpat_verification_run(struct tpat_verification **v, const struct tpat_verified **out, struct tpat *t,
                          const struct tpat_verify_options *o, const struct tpat_verify_edit *edit);
void tpat_verification_close(struct tpat_verification *v); /* null is fine */

/* ---- tpat_db.c: path of the tuning database: `given`, or the default one. */
int tpat_db_path(const char **out, const char *given, struct arena *a, struct err *e);

/* ---- tpat_tuned.c: tuning results for a build. */
struct tpat_tuned;
/* Opens the database `given`; null: the default one. If it cannot be read, fails with `must`, else sets *warning (null:
 * no problem, or no database yet). Always close it. */
int tpat_tuned_open(struct tpat_tuned **out, const char *given, bool must, const char **warning, struct arena *a,
                    struct err *e);
void tpat_tuned_of_processor(struct tpat_tuned *x);      /* from now on, use times of the device cpu, not of a GPU */
void tpat_tuned_close(struct tpat_tuned *x);             /* null is fine */
const char *tpat_tuned_path(const struct tpat_tuned *x); /* null: there is none */
struct tpat_tuned_choice {
	const struct sched_choice *choice; /* one for each stage, for sched_decide(); null: program unknown */
	bool near;                         /* measured at other extents */
	double ns;
	const char *shape, *device; /* of the measurement */
	int passed_over;            /* number of faster ones that can no longer be built */
};
/* Finds the best choice at the extents of `t`; `exactly`: only measured at these extents, on this GPU. */
int tpat_tuned_find(struct tpat_tuned_choice *out, struct tpat_tuned *x, struct ir_program *p, const char *hash,
                    const struct sched_target *t, bool exactly, struct err *e);

/* All trials of a program on GPUs of this architecture, by extents and then by GPU. */
struct db_trials;
int tpat_tuned_trials(struct db_trials *out, struct tpat_tuned *x, const char *hash, const struct sched_target *t,
                      struct err *e);

/* ---- tpat_profile.c: extents expected by the user. */
enum { TPAT_PROFILE_SHAPES = 3 }; /* minimum, optimum, maximum */
struct tpat_profile {
	const struct graph_value *input;
	struct graph_shape shape[TPAT_PROFILE_SHAPES];
};
/* "x:1x4,8x4,32x4", checked against the model. */
int tpat_profile_read(struct tpat_profile *out, struct graph *g, const char *profile, struct arena *a, struct err *e);
/* The same profiles, with one for each input in the place of a batch's, "*:1,8,32". */
int tpat_profiles(struct tpat_strings *out, struct graph *g, const struct tpat_strings *profile, struct arena *a,
                  struct err *e);
/* Returns the shapes that `profile` gives an input, as text; null if none. */
const char *tpat_profile_of(const struct tpat_strings *profile, const char *name);
/* tpat_profile_extents() collects the profiles' values for the model's symbols. tpat_profile_points() returns the
 * points for which a region's program `p` is scheduled: the profiles' extents, defaults for other symbols. */
struct tpat_extents;
int tpat_profile_extents(struct tpat_extents **out, struct graph *g, const struct tpat_strings *profile,
                         struct arena *a, struct err *e);
struct sched_points tpat_profile_points(struct tpat_extents *x, const struct sched_target *t,
                                        const struct graph_region *r, struct ir_program *p,
                                        const struct engine_layout *l);

/* An ir_symbol_fn: the value of a symbol at a point; `target` points to a pointer to a struct sched_target. */
bool tpat_extent_at(void *target, expr symbol, int64_t *value);
/* A tensor's bytes at a point; negative: unknown. */
double tpat_bytes_at(const struct ir_buffer *b, const struct sched_target *t);
/* Sets the extents of a program's input at a point; rank -1 if they are impossible. */
void tpat_extents_of(struct verify_input *in, const struct ir_buffer *b, const struct sched_target *t);
/* The roofline's bounds of a program at a point, on a GPU that need not be present, and the bytes of its inputs and
 * outputs. False if an extent is not known. */
struct tune_roofline;
bool tpat_roofline(struct tune_roofline *out, double *bytes, const struct ir_program *p, const struct sched_target *t,
                   int launches, struct arena *a);

/* ---- tpat_turned.c: gives weights the order of axes that the regions' kernels read, see graph_turn(). */
void tpat_turn(const struct graph_regions *r, struct tpat_extents *extents, const struct sched_target *t,
               const struct graph_program_options *o);

/* ---- tpat_layouts.c: the formats of --format. */
struct tpat_layouts {
	const struct engine_layout **at; /* those that are named */
	int n;
	bool automatic; /* "auto": others, where they are of use */
};
/* ERR_USAGE for a name that is none. */
int tpat_layouts_read(struct tpat_layouts *out, const struct graph *g, const struct tpat_strings *format,
                      struct arena *a, struct err *e);
bool tpat_layouts_have(const struct tpat_layouts *x, const struct engine_layout *l); /* among the named ones */
/* The time that the engine takes to reformat the row-major tensors of a region's plugin for its convolutions around it,
 * which use this format; 0: there are none. `all`: all regions; `p`: the row-major program. */
double tpat_layout_reformats(const struct graph_region *r, const struct graph_regions *all, const struct ir_program *p,
                             const struct engine_layout *l, const struct graph_program_options *o,
                             const struct sched_target *t, struct arena *a);

/* tpat_example.c: extents for symbols without a profile, which satisfy the constraints of the model's operators.
 * `level`: 0 minimum, 1 optimum, 2 maximum. */
struct tpat_example;
int tpat_example(struct tpat_example **out, struct graph *g, const struct tpat_strings *profile, struct arena *a,
                 struct err *e);
int64_t tpat_example_extent(struct tpat_example *x, expr extent, int level);

/* tpat_shapes.c: writes the user's shapes ("x:1x3x320x320") into the model's inputs. */
int tpat_write_shapes(struct onnx_model *m, const struct tpat_strings *shape, struct arena *a, struct err *e);

/* tpat_deploy.c: returns the command that builds an engine of the rewritten model `model`, whose inputs are the
 * graph's, with these libraries, and a note on the target version. `types`: bits of the types at the plugins' edges.
 * *guessed: some extents are examples. Also checks `profile` ("x:1x4,8x4,32x4"). `shape`: the user's shapes of inputs.
 */
int tpat_deploy_text(const char **out, bool *guessed, struct graph *g, const char *model,
                     const struct tpat_texts *libraries, const struct tpat_strings *profile,
                     const struct tpat_strings *shape, uint32_t types, struct arena *a, struct err *e);

#endif
