/* One message of Debezium's, to be encoded. */
#ifndef TESTS_SUPPORT_FEED_DEBEZIUM_PRIVATE_H
#define TESTS_SUPPORT_FEED_DEBEZIUM_PRIVATE_H

#include "base/text.h"
#include "tests/support/feed_debezium.h"

struct feed_text {
    const char *at; /* NULL: null */
    size_t length;
    bool is_number;
};

struct feed_row {
    bool is_null, key_only;
    struct feed_text key, value;
    bool has_amount; /* else it is 1.50, */
    bool is_amount_null;
    uint8_t amount;  /* of the column `amt`, in hundredths */
    bool has_marker; /* the column `m`, */
    struct feed_text marker;
};

struct feed_change {
    char op;
    bool binlog;
    const char *snapshot; /* which row of one; NULL: streamed */
    const char *table;
    struct feed_row before, after;
    uint32_t xid;
    uint64_t previous, lsn, order; /* 0: null */
    const char *record;            /* op m: the content */
    size_t record_length;
};

struct feed_metadata {
    bool is_end, binlog;
    uint32_t xid;
    uint64_t lsn, count;
};

/* Append the payload, the key. */
void feed_encode_change(struct iso_text *text, enum feed_debezium_format format,
                        const struct feed_change *change);
void feed_encode_key(struct iso_text *text, enum feed_debezium_format format,
                     const struct feed_text *key);
void feed_encode_metadata(struct iso_text *text, enum feed_debezium_format format,
                          const struct feed_metadata *metadata);

#endif
