/* The comment of a printed kernel: its stages and its schedule. */
#include "gen/text.h"

#include <string.h>

/* Long lines of the stage's text are broken at spaces. */
static void comment(struct str *out, const char *text)
{
	enum { WIDTH = 116, INDENT = 2 };
	for (size_t n; *text; text += n) {
		for (int i = 0; i < INDENT && *text == ' '; i++)
			text++;
		n = strcspn(text, "\n");
		if (n > WIDTH) {
			for (n = WIDTH; n > WIDTH / 2 && text[n] != ' '; n--)
				;
			if (text[n] != ' ')
				n = WIDTH;
		}
		str_printf(out, "// %.*s\n", (int)n, text);
		n += strspn(text + n, text[n] == ' ' ? " " : "\n");
	}
}

void gen_about(struct str *out, const struct ir_kernel *k)
{
	if (k->parts.n) {
		str_printf(out, "// %d kernels in one launch, %s; %d threads a block.\n", k->parts.n,
		           k->in_turn    ? "in turn in its block"
		           : k->repeated ? "the first in every block, and its results in shared memory"
		                         : "each in blocks of its own",
		           k->threads);
		return;
	}
	comment(out, k->about);
	str_printf(out, "// Schedule: %s%s%s; %d threads a block%s.\n", k->rule, *k->params ? ", " : "", k->params,
	           k->threads, k->index64 ? "; 64-bit positions" : "");
}
