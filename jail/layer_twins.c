#include "jail/layer_twins.h"

#include <stdlib.h>
#include <sys/random.h>

#include "jail/layer_names.h"
#include "jail/layer_node.h"

#define NOT_STAGED SIZE_MAX

struct folded {
	uint64_t key;
	size_t index; /* in the staged names, or NOT_STAGED */
	bool added;
};

struct folding {
	struct folded *name;
	size_t n, added;
	uint8_t key[16]; /* of the hash: names are chosen by hostile code */
};

static void folding_free(struct folding *f)
{
	free(f->name);
}

static int by_key(const void *a, const void *b)
{
	const struct folded *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static int out_of_memory(struct err *err)
{
	return err_set(err, E_NOMEM, "comparing names: out of memory");
}

static void fold(struct folding *f, const char *name, size_t index, bool added)
{
	f->name[f->n++] = (struct folded){ layer_name_fold(name, f->key), index, added };
	f->added += added;
}

/* Names that the upper has (and not only removes). */
static int fold_staged(struct folding *f, const struct name_list *staged, int upper, int real, struct err *err)
{
	f->name = calloc(staged->n + 1, sizeof(*f->name));
	if (!f->name)
		return out_of_memory(err);
	for (size_t i = 0; i < staged->n; i++) {
		const char *name = names_get(staged, i);
		struct layer_node up, old = { 0 };

		/* What cannot be looked at is refused when its turn comes. */
		if (layer_node_at(upper, name, &up) < 0 || !up.mode || layer_node_is_whiteout(&up))
			continue;
		if (real >= 0 && layer_node_at(real, name, &old) < 0)
			continue;
		fold(f, name, i, !old.mode);
	}
	return 0;
}

/* Real names that stay as they are. */
static int fold_real(struct folding *f, const struct name_list *staged, int real, struct err *err)
{
	_cleanup_names_ struct name_list names = { 0 };

	int r = names_read(&names, real, err);
	if (r < 0)
		return r;
	struct folded *grown = reallocarray(f->name, f->n + names.n + 1, sizeof(*grown));
	if (!grown)
		return out_of_memory(err);
	f->name = grown;
	for (size_t i = 0; i < names.n; i++)
		if (!names_has(staged, names_get(&names, i)))
			fold(f, names_get(&names, i), NOT_STAGED, false);
	return 0;
}

static int mark_equal(const struct folding *f, size_t staged, bool **ret_twin, struct err *err)
{
	bool *twin = NULL;

	for (size_t i = 1; i < f->n; i++) {
		if (f->name[i - 1].key != f->name[i].key)
			continue;
		if (!twin)
			twin = calloc(staged, sizeof(*twin));
		if (!twin)
			return out_of_memory(err);
		for (size_t k = i - 1; k <= i; k++)
			if (f->name[k].added)
				twin[f->name[k].index] = true;
	}
	*ret_twin = twin;
	return 0;
}

int twins_find(const struct name_list *staged, int upper, int real, bool covers, bool **ret_twin, struct err *err)
{
	_cleanup_(folding_free) struct folding f = { 0 };

	*ret_twin = NULL;
	if (!staged->n)
		return 0;
	if (getrandom(f.key, sizeof(f.key), 0) != sizeof(f.key))
		return err_set(err, E_IO, "comparing names: no random bytes");
	int r = fold_staged(&f, staged, upper, real, err);
	if (r < 0 || !f.added)
		return r;
	if (real >= 0 && !covers)
		r = fold_real(&f, staged, real, err);
	if (r < 0)
		return r;
	qsort(f.name, f.n, sizeof(*f.name), by_key);
	return mark_equal(&f, staged->n, ret_twin, err);
}
