#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/cmd/cmd.h"
#include "core/config.h"
#include "core/home.h"
#include "jail/cell.h"

static const struct cmd_option options[] = {
	{ "json", 0, NULL, "one object a line: each layer, last the level", false },
	{ NULL, 0, NULL, NULL, false },
};

static const char *const states[] = { [LAYER_OK] = "ok", [LAYER_PARTIAL] = "partial", [LAYER_MISSING] = "missing" };

static int print_json(const struct cell_report *report, enum cell_level floor, bool ok, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64u << 10);

	for (size_t i = 0; i < report->nlayers; i++) {
		const struct cell_layer *l = &report->layer[i];
		_cleanup_json_ json_node *line = cJSON_CreateObject();

		cJSON_AddStringToObject(line, "layer", l->name);
		cJSON_AddStringToObject(line, "state", states[l->state]);
		cJSON_AddStringToObject(line, "evidence", l->evidence);
		cJSON_AddStringToObject(line, "remedy", l->remedy);
		json_write(line, &text);
		buf_addc(&text, '\n');
	}
	buf_addf(&text, "{\"level\":\"%s\",\"floor\":\"%s\",\"ok\":%s}\n", cell_level_name(report->level),
		 cell_level_name(floor), ok ? "true" : "false");
	int r = buf_check(&text, "doctor", err);
	return r < 0 ? r : cmd_print(buf_str(&text), text.len, err);
}

static int print_text(const struct cell_report *report, enum cell_level floor, bool ok, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64u << 10);

	for (size_t i = 0; i < report->nlayers; i++) {
		const struct cell_layer *l = &report->layer[i];

		buf_addf(&text, "%-8s %-12s %s\n", states[l->state], l->name, l->evidence);
		if (l->remedy[0])
			buf_addf(&text, "%21s %s\n", "->", l->remedy);
	}
	buf_addf(&text, "level %s, floor %s: %s\n", cell_level_name(report->level), cell_level_name(floor),
		 ok ? "agents can run here" : "nothing will run here");
	int r = buf_check(&text, "doctor", err);
	return r < 0 ? r : cmd_print(buf_str(&text), text.len, err);
}

static int run(const struct cmd_args *args, struct err *err)
{
	_cleanup_home_ struct home home = HOME_INIT;
	_cleanup_config_ struct config config = { 0 };
	struct cell_report report = { 0 };
	int r = home_open(&home, err);

	if (r == 0)
		r = config_read(home.config_path, &config, err);
	if (r < 0)
		return r;
	cell_probe(&report);
	bool ok = report.level >= config.floor;
	r = cmd_has(args, "json") ? print_json(&report, config.floor, ok, err)
				  : print_text(&report, config.floor, ok, err);
	return r < 0 ? r : ok ? 0 : 3;
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.words = "",
	.summary = "try every layer of the jail on this machine and say what holds",
	.options = options,
	.min_words = 0,
	.max_words = 0,
	.run = run,
};
