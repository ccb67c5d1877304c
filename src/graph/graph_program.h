/* Shared by the parts of src/graph/ that build a region's program. */
#ifndef TPAT_GRAPH_GRAPH_PROGRAM_H
#define TPAT_GRAPH_GRAPH_PROGRAM_H

#include "graph/graph_internal.h"

struct region_extent {
	expr graph, program; /* the same extent in the graph's pool and in the program's */
};

/* An element of an input that decides extents, and its symbol in the program. */
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
	int fresh;          /* the next of the names n0, n1 ... */
	struct map sizes;   /* from the graph's symbols of sizes to the program's */
	struct {
		VEC(struct region_value);
	} asked;
	const char *missing;              /* a needed symbol that follows from no input's extent */
	const struct graph_value *missed; /* the input whose elements depend on it */
	bool failed;                      /* because of that */
};

/* ---- Symbols (graph_program_symbols.c). */
/* Defines symbols for the region's inputs, which express its extents and known elements. */
void region_define_symbols(struct region_build *b);
/* Rewrites a graph's expression in the program's symbols; null if a symbol follows from no input's extents. */
expr region_translate(struct region_build *b, expr e);
/* Returns the elements of an input in the program's symbols; null if some cannot be expressed. */
const expr *region_content(struct region_build *b, const struct graph_value *v);
/* Removes values that nothing needs. An input whose values decide extents becomes a shape input, which has no data. */
int region_finish_values(struct region_build *b);

/* ---- Formats (graph_layout.c). */
/* A new input in the format of the options, and its elements as a row-major map. `dim`: the tensor's extents. */
struct ir_buffer *region_load_stored(struct region_build *b, const struct graph_value *v, const expr *dim);
/* A new output in the format of the options, with the elements of `from`, and zero for padding. */
struct ir_buffer *region_store(struct region_build *b, struct ir_buffer *from, const char *name);

/* ---- Order of axes (graph_turned.c). */
/* A map that gives a turned constant its own axes again. */
struct ir_buffer *region_turn_back(struct region_build *b, const struct graph_value *v, const struct ir_buffer *turned);

/* ---- Names (graph_program_names.c). */
const char *region_program_name(const struct graph_region *r, struct arena *a);
/* Returns the symbol's name, or its end if it is too long to read. */
const char *region_symbol_name(struct region_build *b, const char *name);
/* Returns n0, n1 ..., which no symbol has as yet. */
const char *region_fresh_symbol(struct region_build *b);
/* Returns an identifier that differs from the program's symbols and has no other meaning. */
const char *region_clear_name(const struct region_build *b, const char *name);
/* Returns a tensor's name at the program's edge: a single operator's formal name, else the tensor's own or a number. */
const char *region_edge_name(const struct region_build *b, const struct graph_value *v);
/* Gives `buf` this name; a temporary of that name takes the other one. Expressions that load the buffers are rebuilt by
 * the first pass of ir_optimise(). */
void region_rename(struct region_build *b, struct ir_buffer *buf, const char *name);

#endif
