// What glibc's Swift module lacks: epoll, eventfd, signalfd, and two functions that it declares for _GNU_SOURCE only.
#pragma once
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

extern int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
extern int pthread_setname_np(pthread_t thread, const char *name);
