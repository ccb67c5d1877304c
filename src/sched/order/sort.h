/* Inside src/sched/: shared by the sort rules. Rows along the sorted axis are independent of each other. */
#ifndef TPAT_SCHED_SORT_H
#define TPAT_SCHED_SORT_H

#include "sched/order/row_axes.h"

/* The kernels' name for a position in the sorted row. Not an axis name, since values use the row's axes in the same
 * scope. */
#define SORT_RANK "rank"

/* Bytes of keys that a block sorts in shared memory: a power of two; excludes what its threads exchange. */
enum { SORT_SHARED_BYTES = TARGET_DECLARED / 3 * 2 };
int sort_most_keys(const struct ir_stage *s); /* that many bytes, in keys */

/* A row of a sort in a kernel: its values by position, and the positions of its results. */
struct sort_row {
	struct ir_program *p;
	const struct ir_stage *s;
	expr key;    /* s->value without casts that keep the order */
	expr n, k;   /* row lengths: of the input, and of the result */
	expr number; /* row number */
	struct row_place place;
	expr axis[IR_MAX_RANK]; /* kernel variables; the sorted axis has none, the last is the position of the value */
	expr (*load)(void *user, expr e, expr flat); /* as in struct axes */
	void *user;
	bool alone; /* keys only: values are recovered from them, and indices are not needed */
};

/* Maps made with a sort: maps after it, each element of which uses the index found at the same position only. */
enum { SORT_MOST_MAPS = 3 };
struct sort_map {
	const struct ir_buffer *out;
	expr value; /* over out's axes and the index in the row: the axis after them, or `place` if it may be out of
	               range */
	expr place; /* the variable for that index; else null */
};
struct sort_maps {
	struct sort_map at[SORT_MOST_MAPS];
	int n;
	bool places; /* true if the indices are stored, too */
};
/* Finds the maps that can be made with the sort s. */
struct sort_maps sort_maps(const struct ir_program *p, const struct ir_stage *s);
bool sort_is_alone(const struct ir_program *p, const struct ir_stage *s); /* true if the keys alone determine all stored
                                                                             results */
int sort_span(const struct sched_site *site);                             /* for struct sched_rule */

/* `match` of struct sched_rule, for all sort rules. */
const void *sort_match(struct ir_program *p, const struct ir_stage *s, const char **why);
expr sort_key(const struct ir_stage *s);
int sort_key_bits(const struct ir_stage *s);
enum type sort_key_type(const struct ir_stage *s); /* type of the unsigned integer sort keys */

/* The row with that number. Declares in `b` the variables for its position. */
struct sort_row sort_row_begin(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr number);
/* The position of an element in the value's space, with the sorted axis at its own position: how an input of that shape
 * is indexed. */
expr sort_own_position(struct ir_program *p, const struct ir_stage *s, expr *axis);
/* The value at position r, with the axes' values in `axis`. */
expr sort_value_with(const struct sort_row *row, expr value, const expr *axis, expr r);
expr sort_result_at(const struct sort_row *row, expr j); /* the position in s->out of the row's result j */
expr sort_map_at(struct sort_row *row, const struct sort_map *map, expr j, expr r); /* the map's value for result j,
                                                                                       found at r */
/* Stores result j of the row, found at position r. Both are variables. */
void emit_found(struct sort_row *row, struct ir_block *b, expr j, expr r);

/* These emit statements; functions are returned as their variables. Parameters of type index are bounded by their
 * extent. */

/* const auto key = [&](r) { return key_...(value at r); }; `row` null: the row's number becomes the first parameter. */
const struct ir_variable *emit_key(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                   struct sort_row *row);
/* const auto keys = [&](r, found) { found[..] = key_...(value at r ..); }; for `width` neighbours of a row. */
const struct ir_variable *emit_keys(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                    struct sort_row *row, int width);
/* const auto this_values = [&](r, found) { found[..] = value at r ..; }: the values before they become keys. */
const struct ir_variable *emit_values(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                      struct sort_row *row, int width);
/* The widest vectors for the value's loads along the row; 1: none. */
int sort_width(struct ir_program *p, const struct ir_stage *s);
/* const auto put = [&](j, r) { out[j] = r; ... }; `row` as above. `keyed`: [&](j, key, r). `all`: j may be k or
 * more. */
const struct ir_variable *emit_put(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                   struct sort_row *row, bool keyed, bool all);
/* const auto put = [&](j, key) { value = from_...(key); ... }; only if sort_is_alone(). */
const struct ir_variable *emit_put_alone(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                         struct sort_row *row);
/* Emits the serial twin: the whole row. */
void emit_serial(struct sort_row *row, struct ir_block *b);

/* Rules for some extents only: `fits` is their condition (null: always). Where it does not hold, sort_radix runs. */
expr sort_at_most(struct ir_program *p, expr extent, int64_t most); /* extent <= most; null: provably true */
/* Launches no blocks where `fits` does not hold, or makes them return. Returns the body of the serial twin. */
struct ir_block *sort_only_if(struct ir_program *p, struct ir_kernel *k, expr fits);
/* Creates a workspace of `count` elements for kernels that run only where `fits` holds. */
struct ir_buffer *sort_workspace(struct ir_program *p, const struct ir_stage *s, const char *what, enum type t,
                                 expr count, expr fits);
/* A choice of sort_select with this many keys works by the best elements of segments (select_delegates), of
 * SORT_SEGMENT items each. */
enum { SORT_DELEGATE_KEYS = 512, SORT_SEGMENT = 16 };
bool sort_has_size(const struct ir_program *p, expr e); /* true if e uses a data-dependent size */
void sort_radix_steps(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c, expr fits);

/* For struct sched_rule (cost_sort.c). */
double sort_block_estimate(const struct sched_site *site, const struct sched_choice *c);
double sort_select_estimate(const struct sched_site *site, const struct sched_choice *c);
double select_digits_estimate(const struct sched_site *site, const struct sched_choice *c);
double select_cluster_estimate(const struct sched_site *site, const struct sched_choice *c);
double sort_radix_estimate(const struct sched_site *site, const struct sched_choice *c);

#endif
