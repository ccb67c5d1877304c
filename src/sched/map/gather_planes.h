/* Maps that gather from several planes at the same positions. Each thread computes some neighbouring positions of
 * several planes. It gathers from a transposed copy, in which the planes' elements of a position are adjacent
 * (gather_planes.c). */
#ifndef TPAT_SCHED_GATHER_PLANES_H
#define TPAT_SCHED_GATHER_PLANES_H

#include "sched/map/gathers.h"
#include "sched/build/axes.h"

enum { GATHER_PLANES_MAX = 16, GATHER_BYTES = 16 /* of a vector */ };

struct gather_planes {
	struct ir_program *p;
	const struct ir_stage *s;
	const struct ir_buffer *buf; /* the source of the gathers */
	int lead;                    /* number of its leading axes, which select the plane */
	int axis, inner;             /* of the result: the axis of the planes; the last axis */
	bool own;                    /* each plane has its own positions */
	expr size;                   /* elements of a plane */
	struct gathers gathers;
	bool fits;
	/* The kernel's: */
	int planes, width, turns;     /* turns: iterations of a thread over further planes; 1 unless width is 1 */
	const struct ir_buffer *from; /* the copy */
	/* Index in the copy of a gather's position. */
	expr (*position)(struct gather_planes *f, const struct gather *one, const struct axes *here);
};

/* True if the stage is such a map; `own`: planes may have their own positions. */
bool gather_planes_find(struct gather_planes *f, struct ir_program *p, const struct ir_stage *s, bool own);
int gather_planes_bytes(const struct gather_planes *f); /* of an element */

/* Computes axes first ... end - 1 from flat position `n`, in the space where the planes of a thread count as one; the
 * planes' axis gets the first plane. */
void gather_planes_axes(struct gather_planes *f, struct ir_block *b, expr n, int first, int end, expr *axis);
/* Computes `width` neighbouring positions of all planes, from `axis` on. Their vectors of coordinates
 * (gathers_load_vectors) must be loaded. */
void gather_planes_emit(struct gather_planes *f, struct ir_block *b, const expr *axis);

#endif
