/* Any text as SQL. What is refused has a place in it; of what is not the statements lie in the
 * text, one behind the other, each is SQL by itself, and no tree is deeper than its limit says. */
#include "sql/sql.h"
#include "tests/fuzz/fuzz.h"

enum { DEEPEST = 2 * ISO_SQL_DEPTH + 40 };

static uint32_t depth_of(const ProtobufCMessage *message)
{
    uint32_t deepest = 0;
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const char *place = (const char *)message + field->offset;
        if (field->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF &&
            *(const uint32_t *)((const char *)message + field->quantifier_offset) != field->id)
            continue;
        bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
        size_t count =
            repeated ? *(const size_t *)((const char *)message + field->quantifier_offset) : 1;
        ProtobufCMessage *const *list =
            repeated ? *(ProtobufCMessage *const *const *)place : (void *)place;
        for (size_t j = 0; j < count; j++) {
            uint32_t depth = list[j] ? depth_of(list[j]) + 1 : 0;
            deepest = depth > deepest ? depth : deepest;
        }
    }
    return deepest;
}

static void check_fault(const char *text, size_t size, const struct iso_sql_fault *fault)
{
    uint32_t line, column;
    FUZZ_CHECK(fault->byte <= size && fault->text[0] && strlen(fault->text) < ISO_SQL_FAULT_TEXT);
    iso_sql_location(text, fault->byte, &line, &column);
    FUZZ_CHECK(line == fault->line && column == fault->column);
    FUZZ_CHECK(!strpbrk(fault->text, "\r\n"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_padded(data, size);
    struct iso_sql_fault fault;
    struct iso_sql_tokens tokens;
    struct iso_sql_tree tree;
    if (iso_sql_scan(&tokens, text, size, &fault)) {
        for (uint32_t i = 0; i < tokens.count; i++)
            FUZZ_CHECK(tokens.list[i].begin >= (i ? tokens.list[i - 1].end : 0) &&
                       tokens.list[i].end >= tokens.list[i].begin && tokens.list[i].end <= size);
        iso_sql_tokens_release(&tokens);
    } else {
        check_fault(text, size, &fault);
    }
    if (iso_sql_parse(&tree, text, size, &fault)) {
        size_t last = 0;
        for (size_t i = 0; i < tree.count; i++) {
            size_t begin, end;
            struct iso_sql_tree alone;
            iso_sql_statement(text, size, tree.statements[i], &begin, &end);
            FUZZ_CHECK(begin >= last && begin < end && end <= size);
            FUZZ_CHECK(depth_of(&tree.statements[i]->base) <= DEEPEST);
            FUZZ_CHECK(iso_sql_parse(&alone, text + begin, end - begin, &fault) &&
                       alone.count == 1);
            iso_sql_tree_release(&alone);
            last = end;
        }
        iso_sql_tree_release(&tree);
        if (!iso_sql_check_functions(text, size, &fault))
            check_fault(text, size, &fault);
    } else {
        check_fault(text, size, &fault);
    }
    free(text);
    return 0;
}
