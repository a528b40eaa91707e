#define _GNU_SOURCE
#include "suite/server.h"
#include "suite/sweeper.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "database/database.h"

enum { ANSWERS_MS = 30000, PASSWORD = 16 };

static void put(struct iso_text *text, const char *string)
{
    text->used = 0;
    iso_text_put(text, string);
    *iso_text_reserve(text, 1) = 0;
}

/* ---- programs ---- */

/* Debian's folders, Red Hat's, and Homebrew's. */
static enum iso_status find_programs(struct suite_server *server, const char *version,
                                     struct iso_error *error)
{
    static const char *const places[] = {"/usr/lib/postgresql/%s/bin/initdb",
                                         "/usr/pgsql-%s/bin/initdb",
                                         "/opt/homebrew/opt/postgresql@%s/bin/initdb"};
    int newest = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char pattern[200];
        glob_t found = {0};
        snprintf(pattern, sizeof pattern, places[i], version ? version : "*");
        glob(pattern, 0, NULL, &found);
        for (size_t j = 0; j < found.gl_pathc; j++) {
            int number = atoi(found.gl_pathv[j] + (strchr(places[i], '%') - places[i]));
            if (number <= newest)
                continue;
            newest = number;
            *strrchr(found.gl_pathv[j], '/') = 0;
            put(&server->programs, found.gl_pathv[j]);
        }
        globfree(&found);
    }
    return newest ? ISO_OK
                  : iso_error_set(error, ISO_BAD_INPUT,
                                  "PostgreSQL%s%s is not installed: apt-get install postgresql",
                                  version ? " " : "", version ? version : "");
}

/* ---- processes ---- */

/* In the child. What is said goes to the log. */
static void become(const struct suite_server *server, char *const *arguments)
{
    char path[500];
    sigset_t none;
    snprintf(path, sizeof path, "%s/log", server->folder.bytes);
    if (server->user && (setgroups(0, NULL) || setgid(server->group) || setuid(server->user)))
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGQUIT); /* which setuid takes back */
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int nothing = open("/dev/null", O_RDONLY);
    if (log < 0 || nothing < 0 || chdir(server->folder.bytes))
        _exit(126);
    dup2(nothing, 0);
    dup2(log, 1);
    dup2(log, 2);
    setpgid(0, 0); /* a terminal's interrupt is not for it */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(arguments[0], arguments);
    _exit(127);
}

static pid_t start(const struct suite_server *server, char *const *arguments)
{
    pid_t process = fork();
    if (!process)
        become(server, arguments);
    return process;
}

/* Its last line, as far as there is one. */
static enum iso_status fail(const struct suite_server *server, const char *what,
                            struct iso_error *error)
{
    char path[500], text[2000] = "", *end;
    snprintf(path, sizeof path, "%s/log", server->folder.bytes);
    FILE *log = fopen(path, "re");
    if (log && fseek(log, -(long)sizeof text + 1, SEEK_END))
        rewind(log);
    size_t size = log ? fread(text, 1, sizeof text - 1, log) : 0;
    if (log)
        fclose(log);
    for (end = text + size; end > text && end[-1] == '\n';)
        *--end = 0;
    const char *line = strrchr(text, '\n');
    return iso_error_set(error, ISO_FAILED, "%s: %s", what, line ? line + 1 : text);
}

/* ---- the server ---- */

static enum iso_status make_folder(struct suite_server *server, const char *temporary,
                                   const char *password, struct iso_error *error)
{
    char path[500];
    const struct passwd *user = geteuid() ? NULL : getpwnam("postgres");
    if (!geteuid() && !user)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "PostgreSQL does not run as root, and there is no user postgres");
    server->user = user ? user->pw_uid : 0;
    server->group = user ? user->pw_gid : 0;
    snprintf(path, sizeof path, "%s/isochron-postgres-XXXXXX", temporary);
    if (!mkdtemp(path))
        return iso_error_set(error, ISO_FAILED, "%s: %s", path, strerror(errno));
    suite_sweeper_add(path);
    put(&server->folder, path);
    strncat(path, "/password", sizeof path - strlen(path) - 1);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_made =
        file >= 0 && write(file, password, strlen(password)) == (ssize_t)strlen(password);
    if (file >= 0)
        close(file);
    if (user)
        is_made &= !chown(path, user->pw_uid, user->pw_gid) &&
                   !chown(server->folder.bytes, user->pw_uid, user->pw_gid);
    return is_made ? ISO_OK : iso_error_set(error, ISO_FAILED, "%s: %s", path, strerror(errno));
}

static enum iso_status make_cluster(struct suite_server *server, struct iso_error *error)
{
    char program[500], data[500], password[500];
    int status = -1;
    snprintf(program, sizeof program, "%s/initdb", server->programs.bytes);
    snprintf(data, sizeof data, "%s/data", server->folder.bytes);
    snprintf(password, sizeof password, "--pwfile=%s/password", server->folder.bytes);
    char *arguments[] = {program,  "-D", data,   "-U",          "postgres",  "-A", "scram-sha-256",
                         password, "-E", "UTF8", "--no-locale", "--no-sync", NULL};
    pid_t process = start(server, arguments);
    while (process > 0 && waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    return status ? fail(server, "initdb", error) : ISO_OK;
}

/* One that nobody has now. */
static unsigned free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_bound = probe >= 0 && !bind(probe, (struct sockaddr *)&address, size) &&
                    !getsockname(probe, (struct sockaddr *)&address, &size);
    if (probe >= 0)
        close(probe);
    return is_bound ? ntohs(address.sin_port) : 0;
}

static enum iso_status wait_for_answer(struct suite_server *server, struct iso_error *error)
{
    for (int waited = 0; waited < ANSWERS_MS; waited += 20) {
        struct iso_error refused = {.status = ISO_OK};
        struct iso_database *database = iso_database_connect(server->url.bytes, &refused);
        iso_database_close(database);
        if (database)
            return ISO_OK;
        if (waitpid(server->process, NULL, WNOHANG)) {
            server->process = 0;
            return fail(server, "postgres", error);
        }
        poll(NULL, 0, 20);
    }
    return iso_error_set(error, ISO_FAILED, "the server does not answer");
}

static enum iso_status start_cluster(struct suite_server *server, unsigned port,
                                     struct iso_error *error)
{
    char program[500], data[500], folder[500], number[40];
    snprintf(program, sizeof program, "%s/postgres", server->programs.bytes);
    snprintf(data, sizeof data, "%s/data", server->folder.bytes);
    snprintf(folder, sizeof folder, "unix_socket_directories=%s", server->folder.bytes);
    snprintf(number, sizeof number, "port=%u", port);
    char *arguments[] = {program,     "-D", data,   "-c", "listen_addresses=127.0.0.1", "-c",
                         number,      "-c", folder, "-c", "wal_level=logical",          "-c",
                         "fsync=off", NULL};
    server->process = start(server, arguments);
    return server->process > 0
               ? wait_for_answer(server, error)
               : iso_error_set(error, ISO_FAILED, "no process: %s", strerror(errno));
}

enum iso_status suite_server_start(struct suite_server *server, const char *version,
                                   const char *temporary, struct iso_error *error)
{
    unsigned char random[PASSWORD];
    char password[2 * PASSWORD + 1];
    unsigned port = free_port();
    *server = (struct suite_server){.process = 0};
    if (!port || getrandom(random, sizeof random, 0) != sizeof random)
        return iso_error_set(error, ISO_FAILED, "no port or random number: %s", strerror(errno));
    for (int i = 0; i < PASSWORD; i++)
        snprintf(password + 2 * i, 3, "%02x", random[i]);
    if (find_programs(server, version, error) != ISO_OK ||
        make_folder(server, temporary, password, error) != ISO_OK ||
        make_cluster(server, error) != ISO_OK)
        return error->status;
    iso_text_format(&server->url, "postgresql://postgres:%s@127.0.0.1:%u/postgres", password, port);
    *iso_text_reserve(&server->url, 1) = 0;
    setenv("PGUSER", "postgres", 1);
    setenv("PGPASSWORD", password, 1);
    setenv("PGDATABASE", "postgres", 1);
    return start_cluster(server, port, error);
}

void suite_server_stop(struct suite_server *server)
{
    if (server->process > 0) {
        kill(server->process, SIGQUIT);
        while (waitpid(server->process, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (server->folder.used)
        suite_folder_remove(server->folder.bytes);
    iso_text_release(&server->folder);
    iso_text_release(&server->programs);
    iso_text_release(&server->url);
}
