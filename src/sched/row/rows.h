/* Row programs: consecutive stages that all work on the same rows, so that a row stays in its threads' registers.
 * Examples are softmax and norms: reductions along a row, values of a row, then maps over its elements. */
#ifndef TPAT_SCHED_ROWS_H
#define TPAT_SCHED_ROWS_H

#include "sched/rule.h"

enum { ROWS_MAX_STAGES = 12, ROWS_MAX_CACHED = 8, ROWS_MAX_JOINED = 4 };
/* Elements of a row of open length that one thread may take. */
enum { ROWS_ALONE = 4 };

/* A stage viewed as rows: its expressions over an index space whose first axes index the rows and whose other axes run
 * along a row. A map's axis may be split in two for that. */
struct rows_stage {
	const struct ir_stage *s;
	enum rows_kind {
		ROWS_REDUCE, /* one value a row, from its elements */
		ROWS_VALUE,  /* one value a row, from other such values */
		ROWS_JOINED, /* several, which lie apart in the result, as in a concatenation of such values */
		ROWS_MAP,    /* an element for each element */
	} kind;
	expr value, post; /* over that space; post: over its row axes */
	int row_rank, rank;
	expr dim[2 * IR_MAX_RANK];
	expr row_at, at, full; /* positions of the row, within it, and of the element: row_at * length + at */
	expr to;    /* a map whose elements lie across the rows: the element's position in its buffer; else null */
	int joined; /* ROWS_JOINED: the number of values, which are each[], at place[] in the buffer */
	expr each[ROWS_MAX_JOINED], place[ROWS_MAX_JOINED];
};

struct rows {
	int arch; /* architecture of kernels that need more than TARGET_SHARED_EVERYWHERE */
	struct ir_program *p;
	expr count, length;
	int stages;
	struct rows_stage stage[ROWS_MAX_STAGES];
	int cached; /* inputs of a row that are kept on chip */
	struct rows_cached {
		const struct ir_buffer *buf;
		expr from; /* start of the row in the buffer, over the row axes of `stage`: a row chosen by an index, a
		            * mask shared by several rows; null: the buffer has the rows' own layout */
		expr from_row; /* the same, over axis 0, which is the row's index: stages may number the rows
		                  differently */
		expr stride;   /* between neighbours of a row that lies across the buffer; null: 1 */
		int stage;     /* the first stage that reads it */
	} cache[ROWS_MAX_CACHED];
	int beside;  /* neighbouring rows in neighbouring threads of a block: rule rows_interleaved; else 0 */
	bool turned; /* rows may lie across a buffer: with a stride, next to each other */
	int reductions, maps;
	int args;     /* of the reductions: those that find the place of a best element */
	int leading;  /* maps in front of the first reduction: later stages compute their elements again, from registers
	               */
	double along; /* 32-bit registers that hold one element of all vectors along the row, such as scale and bias */
	bool apart;   /* stages load such vectors, or one element per row of another buffer */
	int spared;   /* instructions per element that kept values save: rows_spared() */
	bool store_all; /* store also results without a known reader */
	bool backwards; /* last rows first: a kernel that reads all rows again starts with those still in the L2
	                   cache */
	expr needs;     /* guard on the extents, or null */
	expr run;       /* neighbours along the row with the same elements of other buffers, such as those of one
	                   channel: rows_run(); null: not known */
	bool even;      /* a kernel for extents where whole vectors have such elements */
};

/* Moves arg reductions that read no value of the row behind its first reduction: kernels then need not keep the
 * elements for them. */
void rows_args_first(struct rows *r);
/* True if the stage has values of rows, not elements. */
bool rows_of_values(const struct rows_stage *st);
/* Finds the longest run of stages from s on that is a row program; false if there is none. */
bool rows_match(struct rows *out, struct ir_program *p, const struct ir_stage *s);
/* The same, with maps or several reductions, where the rows lie across some of the buffers (rows_place.c). False if
 * they lie across none. */
bool rows_match_turned(struct rows *out, struct ir_program *p, const struct ir_stage *s);
/* Start and stride of the row in a buffer that it lies across: its elements next to those of the neighbouring rows.
 * False if the load has no such position. */
bool rows_turned_load(const struct rows *r, const struct rows_stage *st, expr load, expr *from, expr *stride);
/* Views a map as one over rows that lie across its buffer, along that axis. False if they do not. */
bool rows_turned_map(struct rows_stage *out, const struct rows *r, const struct ir_stage *s, int along);
/* The same for n stages that need not be the program's, also if none of their loads is in the rows' order. Returns the
 * number of matched stages. */
int rows_match_stages(struct rows *out, struct ir_program *p, const struct ir_stage *const *stage, int n);
/* Appends the kernels that compute all stages of the rows (rule_rows.c); c: of sched_rows. If `others` follow, it omits
 * the last kernel, which is for all extents unless r->needs is set. */
void rows_apply(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c, bool others);
/* Appends the kernels of rule rows_interleaved: r->beside rows a block. */
void rows_apply_interleaved(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c);
/* Appends the kernels of rule rows_shift, whose rows have constant length. */
void rows_apply_shift(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c);
/* Appends the kernels of rule rows_cluster. Vectors continue from row to row where they do not divide the length. */
void rows_apply_cluster(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c);
/* Writes the rows as kernels with vectors that continue from row to row need them (rows_shifted.c). Returns false if
 * there are no such kernels for them. */
bool rows_shifted(struct rows *out, const struct rows *r);
/* True if those kernels load a buffer whose rows are aligned otherwise in shifted vectors, not element by element. */
bool rows_in_shifted_vectors(const struct rows *r, int cached, int width);
int rows_widest(const struct rows *r); /* elements per vector: 16 bytes of the widest type */
/* True if the rows exceed the caches, so that loads and stores bypass these. */
bool rows_once(const struct rows *r, const struct sched_target *t);
/* The candidates of rule rows (rows_choices.c). */
int rows_candidates(const struct sched_site *site, struct sched_choice *out);
/* Index of the earlier stage of the rows whose result a load reads at its own row; -1: none. */
int rows_value_of(const struct rows *r, const struct rows_stage *st, expr load);
/* Sets the axes of the stage at the start of a row: row axes by the row's index, the others 0. */
void rows_axes(struct ir_program *p, const struct rows_stage *st, expr row, expr *axis);
/* Index of the cached input that a load reads; -1: none. */
int rows_cached_of(const struct rows *r, const struct rows_stage *st, expr load);
/* True if the load is at the element's own position. */
bool rows_is_own(const struct rows *r, const struct rows_stage *st, expr load);
/* True if the load is contiguous along the row and starts at the same position in all rows, as a scale or bias does. */
bool rows_runs_along(const struct rows *r, const struct rows_stage *st, expr load);
/* True if the load is of one element per row, such as a channel's scale, of a buffer that the rows do not compute. */
bool rows_is_of_row(const struct rows *r, const struct rows_stage *st, expr load);
/* Offset of a load from `stride` times the index along the row, if it is uniform within a row, differs between rows and
 * does not depend on results of the rows; else null. */
expr rows_start(const struct rows *r, const struct rows_stage *st, expr load, expr stride);
/* Sets the stage's positions over its axes. */
void rows_set_positions(struct ir_program *p, struct rows_stage *st, expr length);
/* True if the stage's result is an output or has readers outside the rows. */
bool rows_stored(const struct rows *r, int stage);

/* ---- Resources and time (rows_cost.c). */
/* 32-bit registers that hold one element of the row. */
double rows_registers_each(const struct rows *r);
/* The most of a lane's steps that registers hold if `resident` blocks of `lanes` threads share a multiprocessor's. */
int rows_steps_held(const struct rows *r, int lanes, int width, int steps, int resident);
/* A lane's steps in shared memory where `resident` blocks share a multiprocessor's registers and shared memory; 0: none
 * are needed, or they do not fit. Vectors of 16 bytes, of one buffer. */
int rows_steps_shared(const struct rows *r, const struct sched_target *t, int lanes, int width, int64_t steps,
                      int resident);
/* Bytes of shared memory per block for `shared` of a lane's steps, which may be more than every GPU has. */
int rows_shared_bytes(const struct rows *r, int lanes, int width, int shared);
/* rows_keeps() is true if a lane with `elements` elements keeps values that several stages need. rows_registers_kept()
 * is the number of 32-bit registers per element for kept results of functions; other values reuse their inputs'. */
bool rows_keeps(int elements);
int rows_registers_kept(const struct rows *r, int elements);
/* Steps of vectors from an aligned start that a lane needs for the elements of `steps` of `width`, one more than from
 * its row's own start; 0: as many as registers hold. Divides *lanes where a lane has less than a vector. */
int rows_shifted_steps(int *lanes, int width, int steps, int widest);
/* The width of their vectors, for as many elements as `steps` of the widest: in short rows narrower ones leave fewer
 * lanes without elements. */
int rows_shifted_width(int lanes, int steps, int widest);
/* The width of one shorter vector per lane that holds what the last of `steps` would in such kernels for rows of
 * constant length: a row that ends shortly after whole steps needs few elements more. 0: the last step is as wide. */
int rows_tail(const struct rows *r, int lanes, int width, int steps);
/* Rows per block: a warp takes several if they are short. */
int rows_of_block(int lanes);
/* Minimum number of resident blocks per multiprocessor, for blocks of `lanes` lanes per row, each with `elements`
 * elements in registers and `shared` steps in shared memory; 0: no minimum. */
int rows_resident(const struct rows *r, int lanes, int elements, int shared);
double rows_estimate(const struct sched_site *site, const struct sched_choice *c);

/* ---- Values of an element that later stages need again (rows_kept.c): x - mean in a norm, exp(x - largest) in a
 * softmax. The first stage that computes a value keeps it in a register array, and later stages read it there.
 * Expressions are kernel expressions. */
enum { ROWS_MAX_KEPT = 2 };

struct rows_kept {
	int n, from[ROWS_MAX_KEPT]; /* the stage that computes it */
	expr value[ROWS_MAX_KEPT];
	struct ir_variable *array[ROWS_MAX_KEPT];
};

/* True if an expression is worth a register: it calls functions. */
bool rows_kept_work(expr e);
/* Finds the values to keep in the stages' expressions (null: none). */
void rows_kept_find(struct rows_kept *k, int stages, const expr *value);
/* Estimated instructions per element that kept values save. */
int rows_spared(const struct rows *r);
/* The product of the last axes along the row that decide no element of another buffer, such as the height and width of
 * a channel with a scale; null: there are none, or no such elements, or stages differ. */
expr rows_run(const struct rows *r);
/* Returns the stage's expression with kept values read from the arrays, at [step][item]. Stores the values that this
 * stage is the first to compute. */
expr rows_keep(const struct rows_kept *k, struct ir_program *p, struct ir_block *b, int stage, expr value, expr step,
               expr item);

#endif
