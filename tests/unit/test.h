/* Unit tests: count checks, print failures, report at the end. A test is a main() that ends with `return
 * test_done();`. */
#ifndef TPAT_TESTS_UNIT_TEST_H
#define TPAT_TESTS_UNIT_TEST_H

#include <stdio.h>
#include <string.h>

static int test_passed, test_failed;

/* Counts one check; returns true if it held. */
static inline int test_check(int holds, const char *file, int line, const char *what)
{
	if (holds) {
		test_passed++;
	} else {
		test_failed++;
		printf("%s:%d: failed: %s\n", file, line, what);
	}
	return holds;
}

#define CHECK(cond) ((void)test_check(!!(cond), __FILE__, __LINE__, #cond))

#define CHECK_STR(got, want) \
	do { \
		const char *got_ = (got), *want_ = (want); \
		int same_ = got_ && want_ ? strcmp(got_, want_) == 0 : got_ == want_; \
		if (!test_check(same_, __FILE__, __LINE__, #got " is " #want)) \
			printf("  got  \"%s\"\n  want \"%s\"\n", got_ ? got_ : "(null)", want_ ? want_ : "(null)"); \
	} while (0)

#define CHECK_INT(got, want) \
	do { \
		long long got_ = (long long)(got), want_ = (long long)(want); \
		if (!test_check(got_ == want_, __FILE__, __LINE__, #got " is " #want)) \
			printf("  got  %lld\n  want %lld\n", got_, want_); \
	} while (0)

static inline int test_done(void)
{
	printf("%d passed, %d failed\n", test_passed, test_failed);
	return test_failed != 0;
}

#endif
