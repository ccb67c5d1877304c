/* Maps that gather from planes at places which planes share: each thread makes some neighbouring places of several
 * planes, from a copy of what is gathered from, in which the planes' elements of a place lie beside each other
 * (gather_planes.c). */
#ifndef TPAT_SCHED_GATHER_PLANES_H
#define TPAT_SCHED_GATHER_PLANES_H

#include "sched/map/gathers.h"
#include "sched/build/axes.h"

enum { GATHER_PLANES_MAX = 16, GATHER_BYTES = 16 /* of a vector */ };

struct gather_planes {
	struct ir_program *p;
	const struct ir_stage *s;
	const struct ir_buffer *buf; /* that is gathered from */
	int lead;                    /* its axes that say which plane */
	int axis, inner;             /* of the result: along which planes lie; the last one */
	bool own;                    /* each plane has places of its own */
	expr size;                   /* elements of a plane */
	struct gathers gathers;
	bool fits;
	/* Of the kernel: */
	int planes, width, turns; /* turns: of a thread, with the next planes; of more than one with a width of one */
	const struct ir_buffer *from;                                                                 /* the copy */
	expr (*position)(struct gather_planes *f, const struct gather *one, const struct axes *here); /* in it, of a
	                                                                                                 place */
};

/* Whether the stage is such a map; `own`: whether planes may have places of their own. */
bool gather_planes_find(struct gather_planes *f, struct ir_program *p, const struct ir_stage *s, bool own);
int gather_planes_bytes(const struct gather_planes *f); /* of an element */

/* The axes from number `first` of the space in which the planes of a thread are one, up to before `end`, of which `n`
 * is the flat position; that of the planes is the first plane's. */
void gather_planes_axes(struct gather_planes *f, struct ir_block *b, expr n, int first, int end, expr *axis);
/* `width` neighbouring places of all planes, from that at `axis` on, whose vectors of coordinates (gathers_load_beside)
 * are there. */
void gather_planes_emit(struct gather_planes *f, struct ir_block *b, const expr *axis);

#endif
