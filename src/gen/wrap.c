/* Breaks the long lines of a kernel's text where the fewest brackets are open: after a comma or an operator, or in
 * front of a ? or a colon. A line continues below what follows the innermost open bracket, or the equals sign. */
#include "gen/wrap.h"

#include <string.h>

#include "base/error.h"

enum {
	WIDTH = 120, /* columns of a line */
	TAB = 8,
	ROOM = 48,         /* columns of a continuation, if it need not be to the left of its statement */
	ROOM_OF_HEAD = 72, /* the same of a function's parameters */
	MAX_OPEN = 64,
};

/* A place where the line may be broken. */
struct place {
	size_t at;
	int rank, column; /* less is better; of the continuation */
};

struct line {
	const char *text;
	size_t n, at;       /* at: printed so far */
	int tabs, column;   /* of the statement; of the text printed next */
	int open[MAX_OPEN]; /* columns after the open brackets */
	int depth;
};

/* A place between two words at p, where an operator begins or ends: how loosely it binds; 0: it is no such place. */
static int looseness(const char *text, size_t i)
{
	static const struct {
		const char *text;
		int looseness;
	} after[] = {
		{ " ||", 7 }, { " &&", 6 }, { " ==", 5 }, { " !=", 5 }, { " <", 5 },
		{ " >", 5 },  { " <=", 5 }, { " >=", 5 }, { " |", 4 },  { " &", 4 },
		{ " +", 3 },  { " -", 3 },  { " *", 2 },  { " /", 2 },  { " %", 2 },
	};
	if (text[i] != ' ')
		return 0;
	if (strncmp(text + i, " ? ", 3) == 0 || strncmp(text + i, " : ", 3) == 0)
		return 8;
	if (i && strchr(",;", text[i - 1]))
		return 9;
	for (size_t k = 0; k < sizeof after / sizeof *after; k++) {
		size_t n = strlen(after[k].text);
		if (i >= n && strncmp(text + i - n, after[k].text, n) == 0)
			return after[k].looseness;
	}
	return 0;
}

/* Brackets, also of templates: f<2>. */
static bool opens(const struct line *l, size_t i)
{
	const char *p = l->text + i;
	return strchr("([{", *p) || (*p == '<' && i && p[-1] != ' ' && p[1] != ' ');
}

static bool closes(const struct line *l, size_t i)
{
	const char *p = l->text + i;
	return strchr(")]}", *p) || (*p == '>' && i && p[-1] != ' ' && p[-1] != '-');
}

/* Returns the column of the next line if this one is broken with the brackets that are open now. */
static int continuation(const struct line *l)
{
	int plain = (l->tabs + 1) * TAB, below = l->depth ? l->open[l->depth - 1] : plain;
	return WIDTH - below < (l->tabs ? ROOM : ROOM_OF_HEAD) && below > plain ? plain : below;
}

/* True at the end of what a statement's value follows: " = ", " += " or "return ". */
static bool begins_value(const struct line *l, size_t i)
{
	const char *p = l->text + i;
	bool equals = i >= 2 && *p == ' ' && p[-1] == '=' && (p[-2] == ' ' || p[-2] == '+');
	return equals || (i == (size_t)l->tabs + 6 && strncmp(l->text + l->tabs, "return ", 7) == 0);
}

/* The best place within the width, or the first one after it; `l` gets the state at the place. At 0: none. */
static struct place find_place(struct line *l)
{
	enum { RANKS = 16 };
	struct place best = { 0, MAX_OPEN * RANKS, 0 };
	struct line now = *l;
	for (size_t i = l->at; i < l->n && (now.column <= WIDTH || !best.at); i++, now.column++) {
		int loose = i > l->at ? looseness(l->text, i) : 0, rank = now.depth * RANKS - loose;
		if (loose && rank <= best.rank && now.column > continuation(&now)) {
			best = (struct place){ i + 1, rank, continuation(&now) };
			memcpy(l->open, now.open, sizeof l->open);
			l->depth = now.depth;
		}
		bool value = !now.depth && begins_value(l, i), open = opens(l, i) || value;
		if (value) /* rather in the value than in what it is assigned to */
			best.rank += RANKS;
		if (open && now.depth < MAX_OPEN)
			now.open[now.depth++] = now.column + 1;
		else if (closes(l, i) && now.depth)
			now.depth--;
	}
	return best;
}

static void put_broken(struct str *out, struct line *l)
{
	while (l->column + (int)(l->n - l->at) > WIDTH) {
		struct line before = *l;
		struct place place = find_place(l);
		if (!place.at) {
			*l = before;
			break;
		}
		str_addn(out, l->text + l->at, place.at - 1 - l->at); /* without the space */
		str_add(out, "\n");
		for (int i = 0; i < l->tabs; i++)
			str_add(out, "\t");
		str_printf(out, "%*s", place.column - l->tabs * TAB, "");
		l->at = place.at;
		l->column = place.column;
	}
	str_addn(out, l->text + l->at, l->n - l->at);
}

void gen_wrap(struct str *out, const char *text)
{
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		struct line l = { .text = text };
		n = strcspn(text, "\n");
		l.n = n;
		l.tabs = (int)strspn(text, "\t");
		l.at = (size_t)l.tabs;
		l.column = l.tabs * TAB;
		str_addn(out, text, l.at);
		if (strncmp(text + l.at, "//", 2) == 0 || text[l.at] == '#')
			str_addn(out, text + l.at, n - l.at);
		else
			put_broken(out, &l);
		str_add(out, text[n] ? "\n" : "");
	}
}
