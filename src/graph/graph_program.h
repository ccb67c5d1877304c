/* Inside src/graph/: what the parts of building a region's program say to each other. */
#ifndef TPAT_GRAPH_GRAPH_PROGRAM_H
#define TPAT_GRAPH_GRAPH_PROGRAM_H

#include "graph/graph_internal.h"

struct region_extent {
	expr graph, program; /* the same extent in the graph's pool and in the program's */
};

/* An element of an input that decides extents, and what the program calls it. */
struct region_value {
	const struct graph_value *v;
	int64_t element;
	expr symbol;
};

struct region_build {
	struct graph *g;
	const struct graph_region *r;
	const struct graph_program_options *o;
	struct ir_program *p;
	struct graph_scope scope;
	struct {
		VEC(struct region_extent);
	} extents;          /* of the inputs, without constants */
	struct map symbols; /* names taken */
	struct map sizes;   /* of the graph's symbols of sizes: the program's */
	struct {
		VEC(struct region_value);
	} asked;
	const char *missing;              /* symbol that no input's extent gives, when one was needed */
	const struct graph_value *missed; /* the input whose elements need it */
	bool failed;                      /* because of that */
};

/* ---- Symbols (graph_program_symbols.c). */
/* The symbols of the region's inputs, by which its extents and known elements are said. */
void region_define_symbols(struct region_build *b);
/* A graph's expression in the program's symbols; null when an input's extents do not give one that it needs. */
expr region_translate(struct region_build *b, expr e);
/* The elements of an input in the program's symbols; null when not all of them can be said. */
const expr *region_content(struct region_build *b, const struct graph_value *v);
/* Values that nothing needs go; an input whose values decide extents is told when shapes are computed, and is no
 * data. */
int region_finish_values(struct region_build *b);

/* ---- Names (graph_program_names.c). */
const char *region_program_name(const struct graph_region *r, struct arena *a);
/* An identifier that no symbol of the program has, and that means nothing else. */
const char *region_clear_name(const struct region_build *b, const char *name);
/* What the program calls a tensor at its edge: a single operator's own name of it, else the tensor's. */
const char *region_edge_name(const struct region_build *b, const struct graph_value *v);
/* Give `buf` this name; a temporary that has it takes the other. Expressions that load the buffers are rebuilt by the
 * first pass of ir_optimise(). */
void region_rename(struct region_build *b, struct ir_buffer *buf, const char *name);

#endif
