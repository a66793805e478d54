// The least that a Redis subscriber in C can do: hiredis, one pattern, each message looked at by its length.
// The rival of the worker for messages that carry no push. Built and run by the benchmark.
//
//     bench-subscriber SOCKET COUNT
//
// Prints "ready" when it is subscribed, and after COUNT messages their number, the bytes of their payloads, and the
// user and system time of the process in microseconds since it was ready.
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static long long processor_microseconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

int main(int count_of_arguments, char **arguments) {
    if (count_of_arguments != 3) {
        fprintf(stderr, "use: bench-subscriber SOCKET COUNT\n");
        return 2;
    }
    long long wanted = atoll(arguments[2]), messages = 0, bytes = 0;
    redisContext *redis = redisConnectUnix(arguments[1]);
    redisReply *reply = NULL;
    if (redis == NULL || redis->err || (reply = redisCommand(redis, "PSUBSCRIBE *")) == NULL) {
        fprintf(stderr, "bench-subscriber: %s\n", redis ? redis->errstr : "no memory");
        return 1;
    }
    freeReplyObject(reply);
    long long start = processor_microseconds();
    puts("ready");
    fflush(stdout);
    while (messages < wanted) {
        if (redisGetReply(redis, (void **)&reply) != REDIS_OK) {
            fprintf(stderr, "bench-subscriber: %s\n", redis->errstr);
            return 1;
        }
        if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 4) {
            messages += 1;
            bytes += (long long)reply->element[3]->len;
        }
        freeReplyObject(reply);
    }
    printf("%lld messages %lld bytes %lld microseconds\n", messages, bytes, processor_microseconds() - start);
    redisFree(redis);
    return 0;
}
