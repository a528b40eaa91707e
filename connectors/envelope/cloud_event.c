#include "connectors/envelope/cloud_event.h"

#include <string.h>

static bool is(const char *name, size_t length, const char *word)
{
    return length == strlen(word) && !memcmp(name, word, length);
}

/* The id of a transaction may be that of the source or that of the transaction's metadata: one
 * attribute stands for both, and both say the same. */
enum iso_member envelope_cloud_member(const char *name, size_t length)
{
    static const char prefix[] = "iodebezium";
    size_t before = sizeof prefix - 1;
    if (is(name, length, "data"))
        return ISO_MEMBER_DATA;
    if (length <= before || memcmp(name, prefix, before))
        return ISO_MEMBER_NONE;
    name += before;
    length -= before;
    return is(name, length, "op")                                 ? ISO_MEMBER_OP
           : is(name, length, "txid") || is(name, length, "txId") ? ISO_MEMBER_TRANSACTION_ID
           : is(name, length, "txtotalorder")                     ? ISO_MEMBER_TOTAL_ORDER
                                              : iso_member_find(ISO_SCOPE_SOURCE, name, length);
}
