enum RedisTestsPlaceholder {}
