/* Inside src/sched/: neighbouring elements, loaded and stored at once. */
#ifndef TPAT_SCHED_VECTORS_H
#define TPAT_SCHED_VECTORS_H

#include "sched/rule.h"

struct axes;

/* Vectors (vectors.c). Whether load e runs along an axis of that extent, each `width` elements of it at a multiple of
 * `width` in memory, where they are so along the axis and the extent is a multiple, too. */
bool vector_along(struct ir_program *p, expr e, int axis, expr extent, int width);
/* Whether an index is a multiple of `width` wherever the extent `symbol` is. */
bool is_multiple(expr e, int width, expr symbol);
/* Arrays of registers, of one rank or two; their elements. */
void emit_array(struct ir_program *p, struct ir_block *b, struct ir_variable *array, int width);
void emit_array_of_rows(struct ir_program *p, struct ir_block *b, struct ir_variable *array, int rows, int width);
expr item_of(const struct ir_variable *array, expr at);
expr item_of_row(const struct ir_variable *array, expr row, expr at);
void emit_set(struct ir_program *p, struct ir_block *b, const struct ir_variable *array, expr at, expr value);
void emit_set_in_row(struct ir_program *p, struct ir_block *b, const struct ir_variable *array, expr row, expr at,
                     expr value);
/* The `width` elements from position `at` on, into an array that this declares, or into one that stands; row: of that,
 * or null. The statements are good until the next one of the block. */
struct ir_vector *emit_load_vector(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
                                   struct ir_variable *array, int width);
struct ir_vector *emit_load_into(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
                                 const struct ir_variable *array, expr row, int width);
struct ir_vector *emit_store_vector(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
                                    const struct ir_variable *array, int width);
struct ir_vector *emit_store_row(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
                                 const struct ir_variable *array, expr row, int width);
/* The same of buffers of rank 1: of the block's own, or a flat_view(). */
struct ir_vector *emit_load_flat(struct ir_program *p, struct ir_block *b, const struct ir_buffer *view, expr at,
                                 struct ir_variable *array, int width);
void emit_store_vector_flat(struct ir_program *p, struct ir_block *b, const struct ir_buffer *view, expr at,
                            const struct ir_variable *array, expr row, int width);
/* A loop of n turns, unrolled, and its variable. */
struct ir_block *emit_unrolled(struct ir_program *p, struct ir_block *b, const char *name, int n, expr *variable);
struct ir_block *emit_unrolled_each(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, int n,
                                    expr *variable);

/* The loads of a thread that makes `width` neighbouring elements along `inner`, beginning at a multiple of `width` of
 * an extent that is one, too (vector_loads.c). A vector is a load that runs along with the elements; or one of which
 * every second or fourth element does: two or four vectors; or one behind conditions that are the same for all elements
 * of a thread; or one of which the elements of each pair change places. */
struct vector_load {
	expr load, where;          /* where: over the conditions' variables; null: always */
	int parts;                 /* element v is number v / parts of vector v % parts */
	bool pairs;                /* or element v ^ 1 of one vector */
	int like;                  /* which load before it has the same vector; -1: none */
	struct ir_variable *array; /* that in the end has all `width` elements */
};
struct vector_cond {
	expr cond, variable;
};
struct vector_loads {
	struct ir_program *p;
	expr value; /* with variables for the conditions */
	int inner, width;
	expr extent, lane; /* lane: an element's number, for vector_loads_lane */
	struct {
		VEC(struct vector_load);
	} found;
	struct {
		VEC(struct vector_cond);
	} cases;
	bool differs;
};
void vector_loads_find(struct vector_loads *l, struct ir_program *p, expr value, int inner, expr extent, int width);
/* Marks the axes that conditions and the vectors' beginnings need; `same` as in struct axes. */
void vector_loads_axes(const struct vector_loads *l, expr same, bool *used);
/* Conditions and vectors; `start`: of the thread's first element. */
void vector_loads_emit(const struct vector_loads *l, struct ir_block *b, const struct axes *start);
/* How many accesses to memory a load of the value is in each thread; negative: one an element. */
int vector_loads_accesses(const struct vector_loads *l, expr load);
/* For struct axes. */
expr vector_loads_lane(void *user, expr e, expr flat);

#endif
