/* Inside src/sched/: vectorised loads and stores. */
#ifndef TPAT_SCHED_VECTORS_H
#define TPAT_SCHED_VECTORS_H

#include "sched/rule.h"

struct axes;

/* vectors.c. True if load e is contiguous along the axis of that extent and `width` elements from a multiple of `width`
 * on the axis are aligned in memory, provided that `width` divides the extent. */
bool vector_along(struct ir_program *p, expr e, int axis, expr extent, int width);
/* True if the index is a multiple of `width` whenever the extent `symbol` is. */
bool is_multiple(expr e, int width, expr symbol);
/* Register arrays of rank 1 or 2, and their elements. */
void emit_array(struct ir_program *p, struct ir_block *b, struct ir_variable *array, int width);
void emit_array_of_rows(struct ir_program *p, struct ir_block *b, struct ir_variable *array, int rows, int width);
expr item_of(const struct ir_variable *array, expr at);
expr item_of_row(const struct ir_variable *array, expr row, expr at);
void emit_set(struct ir_program *p, struct ir_block *b, const struct ir_variable *array, expr at, expr value);
void emit_set_in_row(struct ir_program *p, struct ir_block *b, const struct ir_variable *array, expr row, expr at,
                     expr value);
/* Loads or stores the `width` elements at `at`. emit_load_vector declares the array; the others use a declared one, or
 * its `row` (may be null). The pointers are valid until the block's next statement. */
struct ir_vector *emit_load_vector(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
                                   struct ir_variable *array, int width);
struct ir_vector *emit_load_into(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
                                 const struct ir_variable *array, expr row, int width);
struct ir_vector *emit_store_vector(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
                                    const struct ir_variable *array, int width);
struct ir_vector *emit_store_row(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
                                 const struct ir_variable *array, expr row, int width);
/* The same for buffers of rank 1: the block's shared memory, or a flat_view(). */
struct ir_vector *emit_load_flat(struct ir_program *p, struct ir_block *b, const struct ir_buffer *view, expr at,
                                 struct ir_variable *array, int width);
struct ir_vector *emit_load_flat_into(struct ir_program *p, struct ir_block *b, const struct ir_buffer *view, expr at,
                                      const struct ir_variable *array, expr row, int width);
void emit_store_vector_flat(struct ir_program *p, struct ir_block *b, const struct ir_buffer *view, expr at,
                            const struct ir_variable *array, expr row, int width);
/* Returns the body of an unrolled loop of n iterations, and its variable. */
struct ir_block *emit_unrolled(struct ir_program *p, struct ir_block *b, const char *name, int n, expr *variable);
/* The same, but a single turn is no loop, and its variable is 0. */
struct ir_block *emit_turns(struct ir_program *p, struct ir_block *b, const char *name, int n, expr *variable);
struct ir_block *emit_unrolled_each(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, int n,
                                    expr *variable);

/* Loads of a thread that computes `width` neighbouring elements along `inner`, from a multiple of `width` on; `width`
 * divides the extent (vector_loads.c). A load becomes a vector if it is contiguous along `inner`; also with a stride of
 * two or four (two or four vectors), under conditions that are uniform over the thread's elements, or with the elements
 * of each pair swapped. */
struct vector_load {
	expr load, where; /* where: over the conditions' variables; null: always */
	expr other;       /* the load of the same buffer that takes its place elsewhere; null: none */
	int parts;        /* element v is number v / parts of vector v % parts */
	bool pairs;       /* element v is number v ^ 1 of one vector */
	int like;         /* index of an earlier load with the same vector, or whose `other` this is; -1: none */
	struct ir_variable *array; /* receives all `width` elements */
};
struct vector_cond {
	expr cond, variable;
};
struct vector_loads {
	struct ir_program *p;
	expr value; /* with variables in place of the conditions */
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
/* Marks the axes that the conditions and the vectors' start positions need; `same` as in struct axes. */
void vector_loads_axes(const struct vector_loads *l, expr same, bool *used);
/* Emits the conditions and the vectors; `start`: axes of the thread's first element. */
void vector_loads_emit(const struct vector_loads *l, struct ir_block *b, const struct axes *start);
/* The same, but only those that depend on the axis (`along`), or only the others. */
void vector_loads_emit_along(const struct vector_loads *l, struct ir_block *b, const struct axes *start, int axis,
                             bool along);
/* Memory accesses per thread of a load of the value; negative: one per element. */
int vector_loads_accesses(const struct vector_loads *l, expr load);
/* Callback for struct axes' `load`. */
expr vector_loads_lane(void *user, expr e, expr flat);

#endif
