/* Runs whole models with tpat's own kernels, without an inference engine. */
#ifndef TPAT_RUN_RUN_H
#define TPAT_RUN_RUN_H

#include "base/threads.h"
#include "dev/dev.h"
#include "graph/graph.h"
#include "sched/sched.h"

struct run_device {
	struct dev *dev;            /* null: the interpreter */
	struct sched_target target; /* for schedules; ignored by the interpreter */
	/* Open extents count as in the first run, when a program is scheduled; else as the target says. */
	bool fit;
	/* Choices for a program that are known to be good, as for sched_program(); null: the cost model's. `region`:
	 * its nodes. May be null. */
	const struct sched_choice *(*choose)(void *user, struct ir_program *p, const struct sched_target *t,
	                                     const char *region);
	void *user;
	struct lock *lock; /* of what sessions share (run_also()); null: they have one thread */
};

/* A model on a device: its pieces' code, memory and launches, in the order of the nodes. A piece is as many consecutive
 * nodes as one program can have. The first run that needs a piece compiles it and uploads its constants; later runs
 * keep both, also when extents change. */
struct run_session;

struct run_counts { /* of one run */
	int nodes, pieces, kernels;
	size_t held, weights; /* bytes of the session's device memory: in all; of these, for constants */
};

/* One launch. Strings live as long as the session's arena. */
struct run_launch_time {
	const char *piece;  /* "conv1..relu3": its nodes */
	const char *node;   /* the last node whose result it writes, with those fused into it; "": unknown */
	const char *kernel; /* the function */
	double ns;          /* median */
	double bytes;       /* of all tensors that it reads or writes, each once */
};

/* What a session asks and tells while it runs. All may be null. */
struct run_watch {
	bool (*stop)(void *user); /* asked before each piece; true: the run ends with ERR_CANCELLED */
	void (*compiled)(void *user, const char *piece);
	void *user;
};
void run_watch(struct run_session *s, const struct run_watch *w); /* copied; for later runs */

/* Code that the caller keeps, so that the same text need not be compiled again. */
struct run_codes {
	/* Sets *out to the code of this text, in `a` or for as long as the session lives; false: there is none. */
	bool (*find)(void *user, struct dev_code *out, const struct dev_source *s, struct arena *a);
	/* A text was compiled, or found. */
	void (*made)(void *user, const struct dev_source *s, const struct dev_code *code, bool found);
	void *user;
};

/* A tensor that a run reads or makes: on the host, on the device, or both. */
struct run_tensor {
	struct tensor tensor; /* data null: not on the host */
	void *at;             /* device memory, aligned to 256 bytes; null: not on the device */
};

/* In `a`. Close it before the device, and before `g` and `a` are freed. */
struct run_session *run_open(const struct run_device *on, struct graph *g, struct arena *a);
void run_close(struct run_session *s); /* null is fine */
/* Another session of the same model, for another thread: with the code and the constants of `s`, but memory and
 * recorded runs of its own, on `d`, which `also` of the first one's device made. In `a`; close it before `s`. These
 * sessions may run_enqueue() at the same time. They use what they share under the lock of struct run_device, which
 * nobody holds while the device works or while a run repeats an earlier one. */
struct run_session *run_also(struct run_session *s, struct dev *d, struct arena *a);
void run_codes(struct run_session *s, const struct run_codes *c); /* copied */
/* Keeps codes in `a`, which must outlive the sessions: those of one device, one after another. */
struct run_codes run_codes_kept(struct arena *a);

/* Compiles all that the main graph's outputs need, before any run. Open extents count as the target says. */
int run_compile(struct run_session *s, struct err *e);

/* Runs the main graph, whose inputs `in` gives in their order, and fills one tensor per output. The tensors live until
 * the session's next run or run_close(). A session may run any number of times, also after an error. Errors: ERR_DEVICE
 * from compiler and device; ERR_MODEL for extents that do not fit; those of eval_program(); ERR_UNSUPPORTED names the
 * first node that tpat does not support. */
int run_graph(struct tensor *out, struct run_counts *counts, struct run_session *s, const struct tensor *in,
              struct err *e);

/* The same with tensors that may be on the device. Results have device memory if the session has a device and a node
 * makes them, until the next run; and host memory if `to_host`, or if they are nowhere else. A result that is an input
 * has the input's own memory. Inputs must stay as they are during the run. Without a device ERR_USAGE for an input that
 * is not on the host. */
int run_tensors(struct run_tensor *out, struct run_counts *counts, struct run_session *s, const struct run_tensor *in,
                bool to_host, struct err *e);

/* Memory of the caller for results. */
struct run_places {
	/* Sets *at to device memory for output number i of the graph, whose type and extents are known now; null: the
	 * session's own. Called before a node writes it; again in the same run, it gives the same. */
	int (*place)(void *user, void **at, int i, const struct tensor *t, struct err *e);
	void *user;
};

/* The same without waiting for the device: results are there when its queue is done. Inputs and the memory of `places`
 * must stay until then. A result is elsewhere than its place if its extents are found at run time, if it is an input or
 * a constant, or if the place is not aligned to 256 bytes. Needs a device.
 *
 * A run with inputs of the same extents as one of the last few repeats its launches, in a few microseconds. */
int run_enqueue(struct run_tensor *out, struct run_counts *counts, struct run_session *s, const struct run_tensor *in,
                const struct run_places *places, struct err *e);

/* Whether run_enqueue() launches runs that repeat at the same addresses as one graph, if the device has graphs. */
void run_graphs(struct run_session *s, bool on);

/* run_tensors() for `n` values of the main graph instead of its outputs: runs only the nodes that they need. The first
 * `on_host` of them get host memory. */
int run_values(struct run_tensor *out, struct run_counts *counts, struct run_session *s,
               struct graph_value *const *want, int n, int on_host, const struct run_tensor *in, struct err *e);

/* After run_graph(): repeats the launches of the last run on the same inputs. *ns: the median of `repeats` runs after a
 * warm-up; *spread: (third quartile - first) / median. `recorded`: of a graph of the launches; 0 if the device records
 * none. The interpreter has no launches: ERR_USAGE. */
int run_time(double *ns, double *spread, struct run_session *s, int repeats, bool recorded, struct err *e);
/* The same for each launch alone, in order. Kernels do not overlap here. */
int run_profile(struct run_launch_time **out, int *n, struct run_session *s, int repeats, struct err *e);

#endif
