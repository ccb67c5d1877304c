/* Inside src/sched/: statements of kernels. */
#ifndef TPAT_SCHED_EMIT_H
#define TPAT_SCHED_EMIT_H

#include "sched/sched.h"

/* Statements. `b` is the block they are appended to; memory is the program's. A variable has a name of its own (ir_name_new),
 * with `name` as hint: use the expression that comes back, or its name in a longer text ("NAME[step]"). Where a text has the
 * hint alone, it means the innermost variable of that hint. Variables called after buffers are named by ir_name_of(). */
struct ir_stmt *emit(struct ir_program *p, struct ir_block *b, enum ir_stmt_kind kind);
expr emit_declare(struct ir_program *p, struct ir_block *b, const char *name, expr value, expr extent);
/* One that is assigned to later. */
expr emit_variable(struct ir_program *p, struct ir_block *b, const char *name, expr first);
/* As emit_declare, also of what that would use as it is: numbers and variables. */
expr emit_constant(struct ir_program *p, struct ir_block *b, const char *name, expr value, expr extent);
void emit_assign(struct ir_program *p, struct ir_block *b, expr variable, expr value);
struct ir_block *emit_for(struct ir_program *p, struct ir_block *b, const char *name, expr from, expr to, expr step);
struct ir_block *emit_if(struct ir_program *p, struct ir_block *b, expr cond);
void emit_return_if(struct ir_program *p, struct ir_block *b, expr cond);
void emit_store(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at, expr value);
/* part = running combination of `sum` and of part in all threads up to this one; sum = that of the last. */
void emit_lanes_scan(struct ir_program *p, struct ir_block *b, expr part, expr sum, enum ir_combine c, int lanes);
/* The same of an array, of which a warp's items lie together, `columns` neighbours at a time in each thread. */
void emit_items_scan(struct ir_program *p, struct ir_block *b, const char *items, expr sum, enum ir_combine c, int lanes,
		     int columns, bool exclusive);
void emit_comment(struct ir_program *p, struct ir_block *b, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Functions of the kernel's own, whose bodies the caller fills; calls of those in `header` (null: of the kernel's own). In CUDA
 * alone. `type` and `name` of variables as C++ has them: "shared_tile<f16, 64, 32>", "tile[3]". */
struct ir_stmt *emit_lambda(struct ir_program *p, struct ir_block *b, const char *name);
expr emit_parameter(struct ir_program *p, struct ir_stmt *lambda, enum type t, const char *name, expr extent);
void emit_shared(struct ir_program *p, struct ir_block *b, const char *type, const char *name);
void emit_local(struct ir_program *p, struct ir_block *b, const char *type, const char *name);
struct ir_stmt *emit_invoke(struct ir_program *p, struct ir_block *b, const char *function, const char *header);
void add_text(struct ir_program *p, struct ir_stmt *call, const char *text);
void add_value(struct ir_program *p, struct ir_stmt *call, expr value);
void add_address(struct ir_program *p, struct ir_stmt *call, const struct ir_buffer *b, expr at, bool written);

#endif
