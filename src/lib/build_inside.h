/* Shared by the parts of tpat_build. */
#ifndef TPAT_LIB_BUILD_INSIDE_H
#define TPAT_LIB_BUILD_INSIDE_H

#include "lib/tpat_inside.h"

/* One plugin: all regions with this program and these weights (and this name, where the user gave one). */
struct made {
	struct made *like; /* the plugin with the same program and other weights, whose schedule it shares; null:
	                      it has its own */
	struct engine_weights weights; /* of the program */
	const struct made *of;         /* the plugin that this one is, with tensors in `layout`; null: its own */
	const struct engine_layout *layout;
	const int *format;             /* of each tensor: engine_plugin.format */
	const char *given;             /* the user's name for it, or null */
	const char *name, *name_space; /* set by build_names() */
	char hash[33];
	const struct ir_plan **plan; /* a tactic */
	int plans;
	const char *all_decisions; /* of every tactic at every point */
	struct tpat_tuned_choice tuned;
	const char *decisions;
	double ns;                         /* of its kernels at the optimum: measured, or else estimated */
	const struct tpat_schedule *why;   /* null: not asked for */
	struct tpat_texts nodes;           /* labels of its regions */
	const struct graph_region *region; /* the first */
	const char *refused;               /* NVRTC's error for its kernels; null: none */
	bool unfused;                      /* rebuilt without fusion */
};

/* What --format=auto found for a plugin in a format that the engine's convolutions around it use. */
struct build_weighed {
	const struct made *of;
	const struct engine_layout *layout;
	double ns, reformats_ns; /* of its kernels; of the engine's reformatting around the row-major ones */
	bool taken;
};

struct build {
	const struct tpat_build_options *o;
	struct tpat_built *result;
	struct tpat_output out;
	struct onnx_model *model;
	struct graph *graph;
	struct tpat_plain plain; /* nodes that need no plugin */
	struct graph_regions regions;
	struct graph_plugin *call; /* one a region */
	struct made **made;        /* plugin of each region; null: folded */
	const char **name_space;   /* of each region */
	struct {
		VEC(struct made *);
	} plugins;
	struct {
		VEC(struct made *);
	} stored; /* plugins again, with tensors in other formats */
	struct tpat_layouts layouts;
	struct {
		VEC(struct build_weighed);
	} weighed;
	struct sched_target target;
	struct engine_arch *arch;
	int archs;
	const struct machine *machine; /* that the libraries are for; null: this one */
	struct tpat_tuned *tuned;      /* null: not used */
	const char *tuned_warning;
	struct tpat_texts unfused;    /* warnings about plugins rebuilt without fusion */
	struct tpat_extents *extents; /* expected by the user */
	const char *deploy;
	bool guessed;              /* some extents in `deploy` are examples */
	struct tpat_texts earlier; /* libraries of earlier builds that the model still needs */
	struct tpat_talk *talk;
	struct arena *arena;
	struct err *err;
};

/* tpat_build.c: checks the options, reads the model and selects its regions. b->o, arena and err are set. */
int build_select(struct build *b);
void build_end(void *build); /* frees what a build holds, also after a failure */
/* build_plugins.c: a program for each region, and kernels for each distinct program. */
int build_plugins(struct build *b);
/* Rebuilds the plugins that NVRTC refused, without fusion. *again is false if there is none, or one had no fusion
 * already. */
int build_unfused(bool *again, struct build *b);
/* build_schedule.c: options of a region's program, its weights, and its schedule. */
struct graph_program_options build_program_options(struct build *b);
struct engine_weights build_weights(const struct ir_program *p, struct arena *a);
int build_schedule(struct build *b, const struct graph_region *r, struct made *m, struct ir_program *program);
/* Returns the plugin whose schedule `m` has: itself, or another with other weights. */
const struct made *build_scheduled(const struct made *m);
/* build_formats.c: the plugin again in each of the formats that it can have. `r`: a region that it replaces. */
int build_layouts(struct build *b, const struct graph_region *r, struct made *m);
/* The i-th of all plugins and then of their other formats; null after the last. */
struct made *build_made(const struct build *b, int i);
/* build_names.c: the plugins' names. */
int build_check_names(const struct build *b); /* fails if a --name matches no region */
int build_given_name(const struct build *b, const char *label, const char **name); /* given for a region's plugin; null:
                                                                                      none */
void build_names(struct build *b); /* after all plugins have their schedules */
/* tpat_earlier.c: fills b->earlier. Errors: ERR_MODEL if a library is missing, ERR_USAGE if this build would replace
 * it. */
int build_find_earlier(struct build *b);
/* build_report.c: fills the build's result. */
void build_report(struct build *b);
void build_count(struct build *b); /* counts the nodes of the user's model */
/* "ConvInteger(x: u8[1,64,N], w: i8[64,64,3]) -> (y: i32[1,64,N])": the program's first line. */
const char *build_about(const struct ir_program *p, struct arena *a);
/* Reports progress to the caller; fails if it asks to stop. */
int build_progress(struct build *b, const char *stage, const char *what, int done, int all);

#endif
