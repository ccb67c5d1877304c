/* The error record: the first failure of a call fills it with a code, a complete sentence and what to do.
 * Three outcomes are kept apart everywhere: a failure (negative code and a filled record), "not applicable" (null or
 * false plus a reason, never an error), and a bug in tpat (ck, dbg). A bad model never reaches ck. */
#ifndef TPAT_BASE_ERROR_H
#define TPAT_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

/* The codes are the negated exit codes of the program. */
enum err_code {
	ERR_NONE = 0,
	ERR_DIFFER = -1,      /* results differ */
	ERR_USAGE = -2,       /* options, or a path that cannot be written */
	ERR_MODEL = -3,       /* the model file, or another input file, is wrong */
	ERR_UNSUPPORTED = -4, /* valid, but not supported by tpat */
	ERR_DEVICE = -5,      /* GPU, driver, NVRTC, C compiler, memory */
	ERR_CANCELLED = -6,   /* the caller asked to stop; the program then exits with 130 */
};

/* Things that a failure can name. */
enum err_about { ERR_FILE, ERR_NODE, ERR_TENSOR, ERR_ABOUTS };

struct err {
	enum err_code code;
	char text[4096];   /* a complete sentence: file, node, tensor, what is wrong */
	char where[256];   /* prefix set by callers that know more: "net.onnx: node Gather_17 (Gather, opset 13): " */
	char advice[4096]; /* what to do; may be empty */
	char about[ERR_ABOUTS][256]; /* machine-readable names, by enum err_about; may be empty */
};

/* Fill `e` with code and sentence unless an earlier failure already did. Returns the code, so that
 * `return err_set(e, ERR_MODEL, ...)` forwards it. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Add what the user can do about the failure just set; only the first advice is kept. Returns e->code. */
int err_advise(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Say where a failure happened, for a caller that knows more than the function that failed: prepended to the existing
 * prefix ("net.onnx: " before "node Gather_17: "). Returns e->code. */
int err_where(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Name the file, node or tensor of the failure just set; the first name of each kind is kept. Returns e->code. */
int err_about(struct err *e, enum err_about what, const char *name);

/* Sets the error after a jump to a guard: out of memory, or the bug that ck() found. `what`: a prefix, "Program x: ",
 * or "". */
int err_set_guard(struct err *e, const char *what);

/* Forget a failure that the caller has dealt with. */
void err_clear(struct err *e);

/* Forward a failure: every internal function returns 0 or a negative code. */
#define TRY(call) \
	do { \
		int try_rc_ = (call); \
		if (try_rc_ < 0) \
			return try_rc_; \
	} while (0)

/* Reports a bug in tpat: jumps to the thread's innermost arena_guard, which turns it into a failure; without a guard
 * prints the location and aborts. ck is always checked, dbg only in debug builds (-DTPAT_DEBUG). */
_Noreturn void err_bug(const char *file, int line, const char *what);
#define ck(cond) ((cond) ? (void)0 : err_bug(__FILE__, __LINE__, #cond))
#ifdef TPAT_DEBUG
#define dbg(cond) ck(cond)
#else
#define dbg(cond) ((void)sizeof(cond))
#endif

#endif
