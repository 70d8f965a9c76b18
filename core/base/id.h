/*
 * id: names of sessions: 20 characters [0-9a-z], sortable by creation (9 of the millisecond, 11 random: 56 bits).
 */
#ifndef WARDER_BASE_ID_H
#define WARDER_BASE_ID_H

#include <stdbool.h>

#include "core/base/err.h"

#define ID_LEN 20

/* E_IO when the kernel gives no random bytes. */
int id_new(char ret[ID_LEN + 1], struct err *err) WARN_UNUSED;
/* Exactly ID_LEN characters of the alphabet. */
bool id_valid(const char *id);

#endif
