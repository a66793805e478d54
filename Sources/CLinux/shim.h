// What glibc's Swift module lacks: epoll, eventfd, signalfd.
#pragma once
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
