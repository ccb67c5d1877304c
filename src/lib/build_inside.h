/* What the parts of tpat_build share. */
#ifndef TPAT_LIB_BUILD_INSIDE_H
#define TPAT_LIB_BUILD_INSIDE_H

#include "lib/tpat_inside.h"

/* One plugin: all regions with this program (and this name, where the user gave one). */
struct made {
	const char *given;             /* the name that the user gave, or null */
	const char *name, *name_space; /* build_names() makes them */
	char hash[33];
	const struct ir_plan **plan; /* a tactic */
	int plans;
	const char *all_decisions; /* of every tactic at every point */
	struct tpat_tuned_choice tuned;
	const char *decisions;
	const struct tpat_schedule *why;   /* null: not asked for */
	struct tpat_texts nodes;           /* labels of its regions */
	const struct graph_region *region; /* the first */
	const char *refused;               /* what NVRTC said of its kernels; null: nothing */
	bool unfused;                      /* it was built again, each stage by itself */
};

struct build {
	const struct tpat_build_options *o;
	struct tpat_built *result;
	struct tpat_output out;
	struct onnx_model *model;
	struct graph *graph;
	struct graph_regions regions;
	struct graph_plugin *call; /* one a region */
	struct made **made;        /* their plugins; null: a folded one */
	const char **name_space;   /* of these */
	struct {
		VEC(struct made *);
	} plugins;
	struct sched_target target;
	struct engine_version version; /* of the engine that it is for */
	struct engine_arch *arch;
	int archs;
	struct tpat_tuned *tuned; /* null: not to be asked */
	const char *tuned_warning;
	struct tpat_texts unfused;    /* warnings of plugins that were built again */
	struct tpat_extents *extents; /* that the user expects */
	const char *deploy;
	struct tpat_texts earlier; /* libraries of earlier builds that the model still needs */
	struct arena *arena;
	struct err *err;
};

/* build_plugins.c: a program for each region, and kernels for each program that differs. */
int build_plugins(struct build *b);
/* Builds the plugins that NVRTC refused again, without fusion. False: there is none, or one that had been built so
 * before. */
int build_unfused(bool *again, struct build *b);
/* build_names.c: what the plugins are called. */
int build_check_names(const struct build *b); /* every --name must mean a region that there is */
int build_given_name(const struct build *b, const char *label, const char **name); /* of a region's plugin; null:
                                                                                    * none */
void build_names(struct build *b); /* when all plugins have their schedules */
/* tpat_earlier.c: b->earlier. ERR_MODEL when one is missing, ERR_USAGE when this build would replace it. */
int build_find_earlier(struct build *b);
/* build_report.c: what was done. */
void build_report(struct build *b);
/* "ConvInteger(x: u8[1,64,N], w: i8[64,64,3]) -> (y: i32[1,64,N])": the program's first line. */
const char *build_about(const struct ir_program *p, struct arena *a);
/* Tells the caller how far the build is; fails when it asks for the end. */
int build_progress(struct build *b, const char *stage, const char *what, int done, int all);

#endif
