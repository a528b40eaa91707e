#include "generate/plant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct iso_anomaly_script *find_anomaly(const char *name, size_t length)
{
    uint32_t count;
    const struct iso_anomaly_script *anomalies = iso_anomalies(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (strlen(anomalies[i].name) == length && !memcmp(anomalies[i].name, name, length))
            return &anomalies[i];
    }
    return NULL;
}

static enum iso_status unknown_name(const char *text, struct iso_error *error)
{
    char names[1024] = "";
    uint32_t count;
    const struct iso_anomaly_script *anomalies = iso_anomalies(&count);
    for (uint32_t i = 0; i < count; i++) {
        strcat(names, i ? ", " : "");
        strcat(names, anomalies[i].name);
    }
    return iso_error_set(error, ISO_BAD_INPUT, "--anomaly %s: no such anomaly; there are %s", text,
                         names);
}

static bool parse_count(const char **at, uint32_t *count)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(*at, &end, 10);
    if (end == *at || **at < '0' || **at > '9' || errno || number < 1 || number > 1000000)
        return false;
    *at = end;
    *count = (uint32_t)number;
    return true;
}

static bool parse_place(const char **at, uint32_t transactions, uint64_t *place)
{
    char *end;
    errno = 0;
    if (**at < '0' || **at > '9')
        return false;
    if (strchr(*at, '.')) {
        double share = strtod(*at, &end);
        if (!(share >= 0.0 && share <= 1.0))
            return false;
        *place = (uint64_t)(share * transactions);
    } else {
        *place = strtoull(*at, &end, 10);
        if (errno || *place > transactions)
            return false;
    }
    *at = end;
    return true;
}

enum iso_status iso_plant_parse(const char *text, uint32_t transactions, struct iso_plant *plant,
                                struct iso_error *error)
{
    size_t length = strcspn(text, ":@");
    const char *at = text + length;
    *plant =
        (struct iso_plant){.anomaly = find_anomaly(text, length), .count = 1, .everywhere = true};
    if (!plant->anomaly)
        return unknown_name(text, error);
    if (*at == ':' && (at++, !parse_count(&at, &plant->count)))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--anomaly %s: the count must be a number from 1 to 1000000", text);
    if (*at == '@') {
        at++;
        plant->everywhere = false;
        if (!parse_place(&at, transactions, &plant->place))
            return iso_error_set(
                error, ISO_BAD_INPUT,
                "--anomaly %s: the place must be a share of the run from 0.0 to 1.0, or a number of "
                "transactions up to %u",
                text, transactions);
    }
    if (*at)
        return iso_error_set(error, ISO_BAD_INPUT, "--anomaly %s: expected NAME[:COUNT][@PLACE]",
                             text);
    return ISO_OK;
}
