/* The comment of a printed kernel: its stages and its schedule. */
#include "gen/text.h"

#include <string.h>

/* Long lines of the stage's text are broken at spaces, and continue further to the right. */
static void comment(struct str *out, const char *text)
{
	enum { WIDTH = 116, INDENT = 2, FURTHER = 4 };
	int indent = 0; /* of a line's continuation; 0: the text is at the beginning of a line */
	for (size_t n; *text; text += n) {
		const size_t width = (size_t)(WIDTH - indent);
		int own = 0;
		for (int i = 0; i < INDENT && !indent && *text == ' '; i++)
			text++;
		for (; !indent && text[own] == ' '; own++)
			;
		n = strcspn(text, "\n");
		bool broken = n > width;
		if (broken) {
			for (n = width; n > width / 2 && text[n] != ' '; n--)
				;
			if (text[n] != ' ')
				n = width;
		}
		str_printf(out, "// %*s%.*s\n", indent, "", (int)n, text);
		indent = !broken ? 0 : indent ? indent : own + FURTHER;
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
	str_printf(out, "// Schedule: %s; %d threads a block%s.\n", ir_kernel_decision(k, out->arena), k->threads,
	           k->index64 ? "; 64-bit positions" : "");
}
