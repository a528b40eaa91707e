/* isochron-proxy: one command, which is the program. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/config.h"
#include "proxy/serve.h"

static const struct cli_command *const commands[] = {&proxy_serve, NULL};

static void out_of_memory(size_t size)
{
    fprintf(stderr, "isochron-proxy: out of memory (%zu bytes more were needed)\n", size);
    _exit(ISO_FAILED);
}

int main(int count, char **arguments)
{
    struct app app = {.commands = commands, .command = &proxy_serve};
    struct iso_error closing = {.status = ISO_OK};
    cli_allow_core(false); /* before any data is seen */
    iso_memory_on_exhaustion(out_of_memory);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    cli_log_set_format(cli_log_format_wished());
    iso_output_to(&app.out, STDOUT_FILENO, "standard output");
    enum iso_status status = proxy_serve.run(&app, count - 1, arguments + 1);
    if (app.error.status != ISO_OK)
        cli_log_error("%s", app.error.text);
    if (iso_output_close(&app.out, &closing) != ISO_OK)
        status = ISO_FAILED;
    cli_release(&app);
    return (int)status;
}
