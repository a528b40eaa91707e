#include "proxy/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEPT_ROOM = 1 << 14, TLS_MOST = 1 << 24 };

void link_init(struct link *link, int fd)
{
    int one = 1;
    *link = (struct link){.fd = fd};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
}

void link_release(struct link *link)
{
    SSL_free(link->tls);
    if (link->fd >= 0)
        close(link->fd);
    iso_text_release(&link->waiting);
    *link = (struct link){.fd = -1};
}

static enum link_result tls_result(struct link *link, int result)
{
    int why = SSL_get_error(link->tls, result);
    ERR_clear_error();
    if (why == SSL_ERROR_WANT_READ)
        return LINK_AGAIN;
    if (why == SSL_ERROR_WANT_WRITE) {
        link->tls_wants_write = true;
        return LINK_AGAIN;
    }
    return why == SSL_ERROR_ZERO_RETURN ? LINK_END : LINK_FAILED;
}

enum link_result link_read(struct link *link, void *into, size_t room, size_t *got)
{
    *got = 0;
    link->tls_wants_write = false;
    if (link->tls) {
        int count = SSL_read(link->tls, into, (int)(room < TLS_MOST ? room : TLS_MOST));
        if (count <= 0)
            return tls_result(link, count);
        *got = (size_t)count;
        return LINK_OK;
    }
    ssize_t count = recv(link->fd, into, room, 0);
    if (count > 0) {
        *got = (size_t)count;
        return LINK_OK;
    }
    if (!count)
        return LINK_END;
    return errno == EAGAIN || errno == EINTR ? LINK_AGAIN : LINK_FAILED;
}

static enum link_result write_some(struct link *link, const char *bytes, size_t size, size_t *put)
{
    *put = 0;
    while (*put < size) {
        if (link->tls) {
            size_t left = size - *put;
            int count =
                SSL_write(link->tls, bytes + *put, (int)(left < TLS_MOST ? left : TLS_MOST));
            if (count <= 0) {
                enum link_result result = tls_result(link, count);
                return result == LINK_AGAIN ? LINK_OK : LINK_FAILED;
            }
            *put += (size_t)count;
            continue;
        }
        ssize_t count = send(link->fd, bytes + *put, size - *put, MSG_NOSIGNAL);
        if (count < 0)
            return errno == EAGAIN || errno == EINTR ? LINK_OK : LINK_FAILED;
        *put += (size_t)count;
    }
    return LINK_OK;
}

enum link_result link_flush(struct link *link)
{
    if (!link_waits(link))
        return LINK_OK;
    size_t put;
    enum link_result result = write_some(link, link->waiting.bytes + link->written,
                                         link->waiting.used - link->written, &put);
    link->written += put;
    if (!link_waits(link)) {
        link->written = link->waiting.used = 0;
        if (link->waiting.capacity > KEPT_ROOM)
            iso_text_release(&link->waiting);
    }
    return result;
}

enum link_result link_send(struct link *link, const void *bytes, size_t size)
{
    size_t put = 0;
    enum link_result result = link_flush(link);
    if (result == LINK_OK && !link_waits(link))
        result = write_some(link, bytes, size, &put);
    if (result == LINK_OK && put < size)
        iso_text_put_bytes(&link->waiting, (const char *)bytes + put, size - put);
    return result;
}

void link_shut(struct link *link)
{
    if (link->is_shut)
        return;
    link->is_shut = true;
    if (link->tls)
        SSL_shutdown(link->tls);
    ERR_clear_error();
    shutdown(link->fd, SHUT_WR);
}

/* The certificate is to name the host; the name is told, so that a server of many can choose its
 * own. */
static bool expect_host(SSL *tls, const char *host)
{
    unsigned char address[16];
    SSL_set_hostflags(tls, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host);
    return SSL_set_tlsext_host_name(tls, host) && SSL_set1_host(tls, host);
}

bool link_start_tls(struct link *link, SSL_CTX *context, bool accepts, const char *host)
{
    link->tls = SSL_new(context);
    if (!link->tls || !SSL_set_fd(link->tls, link->fd))
        return false;
    if (host && !expect_host(link->tls, host))
        return false;
    SSL_set_mode(link->tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (accepts)
        SSL_set_accept_state(link->tls);
    else
        SSL_set_connect_state(link->tls);
    return true;
}

enum link_result link_shake(struct link *link)
{
    link->tls_wants_write = false;
    int result = SSL_do_handshake(link->tls);
    if (result == 1)
        return LINK_OK;
    return tls_result(link, result) == LINK_AGAIN ? LINK_AGAIN : LINK_FAILED;
}

const char *link_tls_trouble(const struct link *link)
{
    long result = SSL_get_verify_result(link->tls);
    return result == X509_V_OK ? NULL : X509_verify_cert_error_string(result);
}
