/* Looks a TiCDC changefeed over: which of its options lose what a check needs, and what to set
 * instead.
 *
 * `text`: a sink URI, or the changefeed's configuration (TOML, with or without sink-uri), or both
 * in one file. Only what matters here is read: names and values of options, whatever section they
 * are in. It asks no server.
 */
#pragma once

#include "doctor/doctor.h"

/* Adds the findings, and the source of `watch` that fits. False: neither a protocol nor a sink is
 * said. */
bool iso_doctor_changefeed(const char *text, struct iso_doctor_report *report);
