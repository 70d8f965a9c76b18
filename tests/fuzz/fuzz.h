/*
 * fuzz: what fuzz targets share.  A property that does not hold is a crash.
 */
#ifndef WARDER_TESTS_FUZZ_H
#define WARDER_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define must(cond)                                                                       \
	do {                                                                             \
		if (!(cond)) {                                                           \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                         \
		}                                                                        \
	} while (0)

#endif
