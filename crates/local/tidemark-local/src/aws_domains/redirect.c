/* Sends a function's connections to *.amazonaws.com to the stack. Loaded into functions only. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* A loopback address that nothing else uses. STACK_PORT is set by the compiler's command line. */
#define AWS_ADDRESS "127.83.65.87"
#define AWS_PORT 443
#define DOMAIN ".amazonaws.com"

typedef int (*getaddrinfo_function)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
typedef int (*connect_function)(int, const struct sockaddr *, socklen_t);

static int is_aws(const char *name) {
    size_t length = strlen(name), suffix = strlen(DOMAIN);
    return length > suffix && strcasecmp(name + length - suffix, DOMAIN) == 0;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    getaddrinfo_function next = (getaddrinfo_function)dlsym(RTLD_NEXT, "getaddrinfo");
    return next(name != NULL && is_aws(name) ? AWS_ADDRESS : name, service, hints, found);
}

int connect(int socket, const struct sockaddr *address, socklen_t length) {
    connect_function next = (connect_function)dlsym(RTLD_NEXT, "connect");
    struct sockaddr_in stack;
    if (address == NULL || address->sa_family != AF_INET || length < sizeof stack) {
        return next(socket, address, length);
    }
    memcpy(&stack, address, sizeof stack);
    if (stack.sin_addr.s_addr != inet_addr(AWS_ADDRESS) || stack.sin_port != htons(AWS_PORT)) {
        return next(socket, address, length);
    }
    stack.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    stack.sin_port = htons(STACK_PORT);
    return next(socket, (const struct sockaddr *)&stack, sizeof stack);
}
