// What glibc's Swift module lacks: epoll, eventfd, signalfd, pidfd, and what it declares for _GNU_SOURCE only.
#pragma once
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

struct sockaddr;
extern int accept4(int socket, struct sockaddr *address, unsigned int *length, int flags);
extern int pidfd_open(pid_t process, unsigned int flags);
extern int pidfd_send_signal(int process, int signal, siginfo_t *information, unsigned int flags);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
extern int pthread_setname_np(pthread_t thread, const char *name);
