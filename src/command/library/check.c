/* One finished history. */
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "bytes/output.h"
#include "evidence/evidence.h"
#include "library/library_private.h"
#include "report/report.h"

struct iso_check {
    enum iso_outcome outcome;
    const char *reason;
    uint64_t violations;
    struct iso_text json; /* without its newline, with a NUL and the scanner's padding behind it */
    struct library_report *reports;
    size_t count, capacity;
};

static uint64_t peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

/* ---- what it says ---- */

static void write_json(struct iso_check *check, struct iso_judgement *judgement, uint32_t listed,
                       uint64_t repeats, double started)
{
    struct iso_output output;
    struct iso_error never = ISO_NO_ERROR;
    iso_output_to_text(&output, &check->json);
    if (judgement->is_of_order) {
        struct iso_polygraph_report report = {.history = judgement->history,
                                              .result = &judgement->result,
                                              .level = judgement->order.level,
                                              .max_findings = listed,
                                              .as_si = judgement->has_verdict ? &judgement->verdict
                                                                              : NULL,
                                              .seconds_total = iso_clock_seconds() - started};
        iso_report_polygraph_json(&output, &report, peak_memory());
    } else {
        judgement->verdict.repeats = repeats;
        judgement->verdict.seconds_total = iso_clock_seconds() - started;
        iso_report_json(&output, &judgement->verdict, peak_memory());
    }
    iso_output_close(&output, &never);
    check->json.used--; /* the newline */
    memset(iso_text_reserve(&check->json, ISO_JSON_PADDING), 0, ISO_JSON_PADDING);
}

static void add_report(struct iso_check *check, struct iso_json *json, const char *level)
{
    iso_json_space(json);
    const char *object = json->at;
    iso_json_skip(json);
    ISO_GROW(check->reports, check->count, check->capacity);
    struct library_report *report = &check->reports[check->count++];
    *report = (struct library_report){0};
    library_report_read(report, object, (size_t)(json->at - object), level);
}

static void read_reports(struct iso_check *check, const char *level)
{
    struct iso_json_text name;
    struct iso_json json;
    iso_json_init(&json);
    iso_json_start(&json, check->json.bytes, check->json.used);
    iso_json_enter_object(&json);
    while (iso_json_member(&json, &name)) {
        if (!iso_json_is(&name, "violations")) {
            iso_json_skip(&json);
            continue;
        }
        iso_json_enter_array(&json);
        while (iso_json_element(&json))
            add_report(check, &json, level);
    }
    iso_json_release(&json);
}

/* ---- the check ---- */

/* Whether there will be evidence, where some is asked for. */
static enum iso_status check_evidence(const struct iso_options *options,
                                      const struct iso_judge_options *settings,
                                      const struct iso_history *history, struct iso_error *error)
{
    if (!options->evidence || settings->any_order ||
        iso_judge_route(settings, history) != ISO_JUDGE_TIMES)
        return ISO_OK;
    return iso_error_set(
        error, ISO_BAD_INPUT,
        "option evidence: this history has timestamps, and the report is its evidence; engine "
        "polygraph or any-order writes polygraph's");
}

static enum iso_status write_evidence(const struct iso_options *options,
                                      const struct iso_judgement *judgement,
                                      struct iso_error *error)
{
    const struct iso_polygraph_result *result = &judgement->result;
    struct iso_output output;
    if (!options->evidence || !judgement->has_result)
        return ISO_OK;
    if (result->outcome == ISO_IS_UNDECIDED ||
        (result->outcome == ISO_HOLDS && result->reads_left_out))
        return ISO_OK; /* there is none */
    if (iso_output_open(&output, options->evidence, error) != ISO_OK)
        return error->status;
    iso_evidence_write(&output, judgement->history, &result->evidence);
    return iso_output_close(&output, error);
}

static struct iso_check *judge(struct iso_transactions *transactions,
                               const struct iso_options *options, struct iso_error *error)
{
    double started = iso_clock_seconds();
    struct iso_judge_options settings = library_judge_options(options);
    struct iso_judgement judgement = {0};
    struct iso_check *check = NULL;
    if (library_options_need_all(options, error) == ISO_OK &&
        library_finish(transactions, settings.engine == ISO_JUDGE_AION, error) == ISO_OK &&
        check_evidence(options, &settings, &transactions->history, error) == ISO_OK &&
        iso_judge(&transactions->history, &settings, &judgement, error) == ISO_OK &&
        write_evidence(options, &judgement, error) == ISO_OK) {
        check = iso_allocate_zeroed(1, sizeof *check);
        check->outcome = judgement.outcome;
        check->reason = judgement.outcome == ISO_IS_UNDECIDED ? judgement.reason : NULL;
        check->violations = iso_judgement_violations(&judgement);
        write_json(check, &judgement, settings.order.max_findings, transactions->repeats, started);
        read_reports(check, iso_level_name(judgement.has_result ? judgement.order.level
                                                                : settings.order.level));
    }
    iso_judgement_release(&judgement);
    return check;
}

struct iso_check *iso_check_new(struct iso_transactions *transactions,
                                const struct iso_options *options, struct iso_error *error)
{
    struct iso_options defaults;
    library_options_init(&defaults);
    return judge(transactions, options ? options : &defaults, error);
}

void iso_check_free(struct iso_check *check)
{
    if (!check)
        return;
    for (size_t i = 0; i < check->count; i++)
        library_report_release(&check->reports[i]);
    iso_free(check->reports);
    iso_text_release(&check->json);
    iso_free(check);
}

enum iso_outcome iso_check_outcome(const struct iso_check *check)
{
    return check->outcome;
}

const char *iso_check_reason(const struct iso_check *check)
{
    return check->reason;
}

uint64_t iso_check_violations(const struct iso_check *check)
{
    return check->violations;
}

size_t iso_check_count(const struct iso_check *check)
{
    return check->count;
}

const struct iso_report *iso_check_report(const struct iso_check *check, size_t index)
{
    return index < check->count ? &check->reports[index].report : NULL;
}

const char *iso_check_json(const struct iso_check *check, size_t *length)
{
    if (length)
        *length = check->json.used;
    return check->json.bytes;
}
