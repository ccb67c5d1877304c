/* Inside src/sched/: statements of kernels. */
#ifndef TPAT_SCHED_EMIT_H
#define TPAT_SCHED_EMIT_H

#include "sched/rule.h"

/* Statements. `b` is the block they are appended to; memory is the program's. A variable is known by what comes back,
 * whatever it is called: `name` is a hint. */
struct ir_stmt *emit(struct ir_program *p, struct ir_block *b, enum ir_stmt_kind kind);
expr emit_declare(struct ir_program *p, struct ir_block *b, const char *name, expr value, expr extent);
/* One that is assigned to later. */
expr emit_variable(struct ir_program *p, struct ir_block *b, const char *name, expr first);
/* As emit_declare, also of what that would use as it is: numbers and variables. */
expr emit_constant(struct ir_program *p, struct ir_block *b, const char *name, expr value, expr extent);
/* The same of a variable that is known before. */
expr emit_define(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, expr value, expr extent);
expr emit_define_variable(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, expr first);
void emit_assign(struct ir_program *p, struct ir_block *b, expr variable, expr value);
/* A loop and its variable, of that extent. */
struct ir_block *emit_loop(struct ir_program *p, struct ir_block *b, const char *name, expr from, expr to, expr step,
                           expr extent, expr *variable);
struct ir_block *emit_for_each(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, expr from,
                               expr to, expr step);
struct ir_block *emit_if(struct ir_program *p, struct ir_block *b, expr cond);
void emit_return_if(struct ir_program *p, struct ir_block *b, expr cond);
void emit_store(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at, expr value);
/* The same of a buffer of rank 1: of the block's own, or a flat_view(). */
void emit_store_flat(struct ir_program *p, struct ir_block *b, const struct ir_buffer *view, expr at, expr value);
/* v = combination of v in `lanes` neighbouring threads. The statement is good until the next one of the block. */
struct ir_lanes *emit_lanes_combine(struct ir_program *p, struct ir_block *b, const struct ir_variable *v,
                                    enum ir_combine c, int lanes);
/* part = running combination of `sum` and of part in all threads up to this one; sum = that of the last. */
void emit_lanes_scan(struct ir_program *p, struct ir_block *b, expr part, expr sum, enum ir_combine c, int lanes);
/* The same of an array, of which a warp's items lie together, `columns` neighbours at a time in each thread. */
void emit_items_scan(struct ir_program *p, struct ir_block *b, const struct ir_variable *items, expr sum,
                     enum ir_combine c, int lanes, int columns, bool exclusive);
void emit_comment(struct ir_program *p, struct ir_block *b, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Functions of the kernel's own, whose bodies the caller fills. What stands from here on is in CUDA alone. */
struct ir_lambda *emit_lambda(struct ir_program *p, struct ir_block *b, const char *name);
expr emit_parameter(struct ir_program *p, struct ir_lambda *lambda, enum type t, const char *name, expr extent);
const struct ir_variable *emit_array_parameter(struct ir_program *p, struct ir_lambda *lambda, enum type t,
                                               const char *name, int n);
void take_parameter(struct ir_program *p, struct ir_lambda *lambda, const struct ir_variable *v);
/* What it returns is what this makes of its value. */
void lambda_through(struct ir_program *p, struct ir_lambda *lambda, const struct ir_device_function *f,
                    struct ir_template of);

/* Objects of the device headers, and arrays: ir_object_new() or ir_variable_new(), with extents where they have some
 * (array_of()). A thread's own; a block's; in the memory that a block gets at its launch, at its beginning or behind
 * what lies in it already (`after`, or null). */
struct ir_variable *array_of(struct ir_variable *v, int n);
struct ir_variable *array_of_rows(struct ir_variable *v, int rows, int n);
const struct ir_variable *emit_local(struct ir_program *p, struct ir_block *b, struct ir_variable *v);
const struct ir_variable *emit_zeros(struct ir_program *p, struct ir_block *b, struct ir_variable *v);
const struct ir_variable *emit_shared(struct ir_program *p, struct ir_block *b, struct ir_variable *v);
const struct ir_variable *emit_placed(struct ir_program *p, struct ir_block *b, struct ir_variable *v,
                                      const struct ir_variable *after);

/* The call of a function of the device headers, and its arguments, one by one. */
struct ir_call *emit_invoke(struct ir_program *p, struct ir_block *b, const struct ir_device_function *f,
                            struct ir_template of);
struct ir_call *emit_method(struct ir_program *p, struct ir_block *b, const struct ir_variable *object,
                            const struct ir_device_function *f);
/* A call that declares what it gives; one whose result is the next argument of another. */
const struct ir_variable *take_result(struct ir_program *p, struct ir_call *call, const char *name);
struct ir_call *add_call(struct ir_program *p, struct ir_call *call, const struct ir_device_function *f,
                         struct ir_template of);
void add_variable(struct ir_program *p, struct ir_call *call, const struct ir_variable *v);     /* by reference */
void add_item(struct ir_program *p, struct ir_call *call, const struct ir_variable *v, expr i); /* v[i] */
void add_item_of_row(struct ir_program *p, struct ir_call *call, const struct ir_variable *v, expr row, expr i);
/* &v.member[at], or of v[i]; `i` and `at` may be null. */
void add_member(struct ir_program *p, struct ir_call *call, const struct ir_variable *v, expr i,
                const struct ir_device_member *member, expr at);
void add_value(struct ir_program *p, struct ir_call *call, expr value);
void add_place(struct ir_program *p, struct ir_call *call, int n, const expr *index);
void add_address(struct ir_program *p, struct ir_call *call, const struct ir_buffer *b, expr at, bool written);
/* An object that is made for this argument; value: or null. */
void add_object(struct ir_program *p, struct ir_call *call, const struct ir_device_type *type, struct ir_template of,
                expr value);

#endif
