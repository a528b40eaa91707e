/* Which before images are whole rows.
 *
 * PostgreSQL sends what the table's replica identity says: DEFAULT the key alone (null on updates, on deletes a row
 * whose other columns are null), INDEX the index's columns, FULL the row. In the first two what is not known is null;
 * so a column that is not null is known in any case, and a row without nulls is whole. A table that has shown such a
 * row is taken for FULL, nulls included, until an update comes without a before image. MySQL's and MariaDB's connectors
 * insist on full row images. An insert's before image is that there was no row.
 */
#ifndef ISO_ENVELOPE_IDENTITY_H
#define ISO_ENVELOPE_IDENTITY_H

#include "io/row.h"
#include "iso/source.h"

enum { ISO_IDENTITIES_MAX = 4096 };

struct iso_identities {
    struct iso_atoms tables; /* table i is atom i; forgotten, all of them, when they are too many */
    bool is_full[ISO_IDENTITIES_MAX];
};

void iso_identities_init(struct iso_identities *identities);
void iso_identities_release(struct iso_identities *identities);
void iso_identities_archive(struct iso_archive *archive, struct iso_identities *identities);

/* Whether the row before, which has cells unless the source sent null, can be relied on. Learns from it.
 * `value`: the one column that matters, or NULL. */
bool iso_identities_is_whole(struct iso_identities *identities, const char *table, size_t length,
                             const struct iso_row *before, const char *value, bool is_update);

#endif
