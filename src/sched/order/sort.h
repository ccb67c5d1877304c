/* Inside src/sched/: what the rules for sorts share. The rows along the sorted axis are independent of each other. */
#ifndef TPAT_SCHED_SORT_H
#define TPAT_SCHED_SORT_H

#include "sched/rule.h"

/* Kernels' name for which one of the sorted row it is. Not an axis's name, since values use the row's axes beside
 * it. */
#define SORT_RANK "rank"

/* Bytes of keys that a block sorts in shared memory: a power of two, besides what its threads exchange. */
enum { SORT_SHARED_BYTES = TARGET_DECLARED_EVERYWHERE / 3 * 2 };
int sort_most_keys(const struct ir_stage *s); /* how many keys that is */

/* A row of a sort in a kernel: what its value is at a position of it, and where its results go. */
struct sort_row {
	struct ir_program *p;
	const struct ir_stage *s;
	expr key;          /* s->value, less what does not change the order */
	expr n, k;         /* extents: of what is sorted, and of the result */
	expr number;       /* of the row */
	expr outer, inner; /* its position among the axes before the sorted one, and behind it */
	expr inner_count;
	expr axis[IR_MAX_RANK]; /* kernel variables; the sorted axis has none, the last is where the value is asked
	                         * for */
	expr (*load)(void *user, expr e, expr flat); /* as in struct axes */
	void *user;
	bool alone; /* keys that values can be made of again, where nobody asks for places */
};

/* What is made with a sort: maps behind it, whose elements are values of the place found at the same position. */
enum { SORT_MOST_MAPS = 3 };
struct sort_map {
	const struct ir_buffer *out;
	expr value; /* over out's axes, and the place in the row: the axis behind them, or where it may be any number */
	expr place; /* this variable; else null */
};
struct sort_maps {
	struct sort_map at[SORT_MOST_MAPS];
	int n;
	bool places; /* whether the places are stored, too */
};
struct sort_maps sort_maps(const struct ir_program *p, const struct ir_stage *s);
bool sort_is_alone(const struct ir_program *p, const struct ir_stage *s); /* all that is stored follows from the keys
                                                                             alone */
int sort_span(const struct sched_site *site);                             /* for struct sched_rule */

const void *sort_match(struct ir_program *p, const struct ir_stage *s, const char **why);
expr sort_key(const struct ir_stage *s);
int sort_key_bits(const struct ir_stage *s);
enum type sort_key_type(const struct ir_stage *s); /* of the unsigned integers that are sorted by */

/* The row of that number; declares in `b` what its position is made of. */
struct sort_row sort_row_begin(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr number);
expr sort_value_at(struct sort_row *row, expr r);        /* the key's value at position r of the row */
expr sort_result_at(const struct sort_row *row, expr j); /* where place j of the row is in s->out */
expr sort_map_at(struct sort_row *row, const struct sort_map *map, expr j, expr r); /* of what is found at r and comes
                                                                                       at j */
/* Stores what comes at place j of the row and was found at position r: variables of these names. */
void emit_found(struct sort_row *row, struct ir_block *b, expr j, expr r);

/* Statements; functions come back as their variables. A parameter of type index has its extent as a bound. */

/* const auto key = [&](r) { return key_...(value at r); }; of a row. Null: of any, with its number as first
 * parameter. */
const struct ir_variable *emit_key(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                   struct sort_row *row);
/* const auto keys = [&](r, found) { found[..] = key_...(value at r ..); }; of a row, for `width` neighbours. */
const struct ir_variable *emit_keys(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                    struct sort_row *row, int width);
/* const auto this_values = [&](r, found) { found[..] = value at r ..; }: the same before they are made keys. */
const struct ir_variable *emit_values(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                      struct sort_row *row, int width);
/* The widest vectors in which the value's loads run along the row; 1: none does. */
int sort_width(struct ir_program *p, const struct ir_stage *s);
/* const auto put = [&](j, r) { out[j] = r; ... }; of a row, or of any. `keyed`: [&](j, key, r); `all`: for j from k on
 * too. */
const struct ir_variable *emit_put(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                   struct sort_row *row, bool keyed, bool all);
/* const auto put = [&](j, key) { value = from_...(key); ... }; where sort_is_alone(). */
const struct ir_variable *emit_put_alone(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                         struct sort_row *row);
/* The whole row on one processor. */
void emit_serial(struct sort_row *row, struct ir_block *b);

/* A rule that takes only some extents: `fits` says which (null: all, or what never is), and where it does not hold,
 * sort_radix goes on. */
expr sort_at_most(struct ir_program *p, expr extent, int64_t most); /* extent <= most; null: provably */
/* Launches no block where it does not hold, or has them return. Gives where the serial twin goes. */
struct ir_block *sort_only_if(struct ir_program *p, struct ir_kernel *k, expr fits);
/* Elements of memory between kernels that run only where `fits` holds. */
struct ir_buffer *sort_workspace(struct ir_program *p, const struct ir_stage *s, const char *what, enum type t,
                                 expr count, expr fits);
/* A choice of sort_select with room for no more keys goes by the best of segments (select_delegates), of so many
 * items. */
enum { SORT_DELEGATE_KEYS = 512, SORT_SEGMENT = 16 };
bool sort_has_size(const struct ir_program *p, expr e); /* one that is found out when the program runs */
void sort_radix_steps(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c, expr fits);

/* For struct sched_rule (cost_sort.c). */
double sort_block_estimate(const struct sched_site *site, const struct sched_choice *c);
double sort_select_estimate(const struct sched_site *site, const struct sched_choice *c);
double sort_radix_estimate(const struct sched_site *site, const struct sched_choice *c);

#endif
