import Redis

/// The scripts that keep, in one step each, what Redis knows of a message with parts.
///
/// Each begins with a write that needs no memory, after which Redis lets it go on (Redis: EVAL, "out of memory"): a full
/// Redis must let the queue be emptied, and what that takes is bounded.
///
/// The hash `P{queue}:run:<message>` has `parts`, the number of unfinished ones with the message's own entry, and for
/// each target with parts `t<number>:` with `parts`, `retries` (those of them that have waited or wait) and `waiting`
/// (devices in these), `walk` (`<cursor> <server's run id>` or `done`), `expected`, `excluded`, `unusable`, and the
/// outcomes `sent`, `removed`, `errored`, `expired` of its finished parts.
enum PartScripts {
    /// Common to scripts that only the owner of an entry may run; `begin` notes a target that has parts.
    private static let common = """
        local function owns(stream, group, consumer, id)
          local pending = redis.call('XPENDING', stream, group, id, id, 1)
          return pending[1] and pending[1][2] == consumer
        end
        local function begin(run, target)
          if redis.call('HSETNX', run, target .. 'parts', 1) == 1 then redis.call('HSETNX', run, 'parts', 1) end
        end

        """

    /// A page of a walk becomes a part.
    ///
    /// KEYS: run, walk, batches, messages. ARGV: group, consumer, message, target, walk's state before and after,
    /// expected, excluded, unusable, hashes, tokens (or nothing), milliseconds that all is kept. Answers the target's
    /// unfinished parts, retries, and devices in them; or `lost`; or `moved` when the walk is not in the state before,
    /// so that no page is left out after one that was refused.
    static let addBatch = RedisScript(
        common + """
            if not owns(KEYS[4], ARGV[1], ARGV[2], ARGV[3]) then return 'lost' end
            redis.call('XCLAIM', KEYS[4], ARGV[1], ARGV[2], 0, ARGV[3], 'RETRYCOUNT', 1, 'JUSTID')
            local target = 't' .. ARGV[4] .. ':'
            if (redis.call('HGET', KEYS[1], target .. 'walk') or '') ~= ARGV[5] then return 'moved' end
            begin(KEYS[1], target)
            redis.call('HSET', KEYS[1], target .. 'walk', ARGV[6], target .. 'expected', ARGV[7],
              target .. 'excluded', ARGV[8], target .. 'unusable', ARGV[9])
            redis.call('PEXPIRE', KEYS[1], ARGV[12])
            if ARGV[6] == 'done' then
              redis.call('UNLINK', KEYS[2])
            elseif ARGV[10] ~= '' then
              redis.call('APPEND', KEYS[2], ARGV[10])
              redis.call('PEXPIRE', KEYS[2], ARGV[12])
            end
            if ARGV[11] ~= '' then
              redis.call('XADD', KEYS[3], '*', 'message', ARGV[3], 'target', ARGV[4], 'tokens', ARGV[11])
              redis.call('HINCRBY', KEYS[1], 'parts', 1)
              redis.call('HINCRBY', KEYS[1], target .. 'parts', 1)
            end
            return redis.call('HMGET', KEYS[1], target .. 'parts', target .. 'retries', target .. 'waiting')
            """
    )

    /// Pushes of an entry wait for another attempt, as a part of their own.
    ///
    /// KEYS: the entry's stream, run, delayed, outcomes. ARGV: group, consumer, entry, target, due, devices, member,
    /// records, milliseconds that all is kept. Asked again after a lost answer it does nothing. An entry with something
    /// to show for it has not killed its worker: its deliveries count anew. Answers `ok` or `lost`.
    static let delay = RedisScript(
        common + """
            if not owns(KEYS[1], ARGV[1], ARGV[2], ARGV[3]) then return 'lost' end
            local stored = redis.call('GET', KEYS[4]) or ''
            if string.find(stored, ARGV[8], 1, true) then return 'ok' end
            local target = 't' .. ARGV[4] .. ':'
            redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'RETRYCOUNT', 1, 'JUSTID')
            begin(KEYS[2], target)
            redis.call('ZADD', KEYS[3], ARGV[5], ARGV[7])
            redis.call('HINCRBY', KEYS[2], 'parts', 1)
            redis.call('HINCRBY', KEYS[2], target .. 'parts', 1)
            redis.call('HINCRBY', KEYS[2], target .. 'retries', 1)
            redis.call('HINCRBY', KEYS[2], target .. 'waiting', ARGV[6])
            redis.call('PEXPIRE', KEYS[2], ARGV[9])
            redis.call('APPEND', KEYS[4], ARGV[8])
            redis.call('PEXPIRE', KEYS[4], ARGV[9])
            return 'ok'
            """
    )

    /// Retries that are due become parts.
    ///
    /// KEYS: delayed, batches. ARGV: how many at most, the length of the stream of parts up to which they are added.
    /// Answers how many, and the milliseconds until the next is due, or -1.
    static let release = RedisScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local room = math.min(tonumber(ARGV[1]), tonumber(ARGV[2]) - redis.call('XLEN', KEYS[2]))
        local released = 0
        if room > 0 then
          local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0, room)
          for _, member in ipairs(due) do
            local first = string.find(member, ' ', 1, true)
            local second = first and string.find(member, ' ', first + 1, true)
            local third = second and string.find(member, ' ', second + 1, true)
            redis.call('ZREM', KEYS[1], member)
            if third then
              redis.call('XADD', KEYS[2], '*', 'message', string.sub(member, first + 1, second - 1),
                'target', string.sub(member, second + 1, third - 1), 'tokens', string.sub(member, third + 1))
            end
            released = released + 1
          end
        end
        local next = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
        return {released, next and math.max(0, tonumber(next) - now) or -1}
        """
    )

    /// Outcomes of an entry that is not finished yet.
    ///
    /// KEYS: the entry's stream, outcomes. ARGV: group, consumer, entry, records, milliseconds that they are kept. An
    /// entry with something to show for it has not killed its worker: its deliveries count anew.
    static let store = RedisScript(
        common + """
            if not owns(KEYS[1], ARGV[1], ARGV[2], ARGV[3]) then return 'lost' end
            redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'RETRYCOUNT', 1, 'JUSTID')
            redis.call('APPEND', KEYS[2], ARGV[4])
            redis.call('PEXPIRE', KEYS[2], ARGV[5])
            return 'ok'
            """
    )

    /// An entry is finished: its outcomes are added to the message's, and the last one takes the message away.
    ///
    /// KEYS: the entry's stream, messages, run, outcomes, dead, what the message's walks begin with. ARGV: group,
    /// consumer (or nothing: whoever owns the entry), entry, message, milliseconds that what is left is kept, the
    /// number of words of a dead letter, those words, then for each target with parts its number, expected, excluded
    /// (nothing: as noted before), sent, removed, errored, expired, devices if the entry was a retry, 1 if the walk of
    /// the message has ended. Answers the unfinished parts, then for each target that has ended its number, expected,
    /// excluded, and outcomes; `gone` if the entry was finished before; `moved` if Redis knows of no end of the walk;
    /// `lost` if the consumer does not own it. A message may end in the middle of a walk: when it is put aside.
    static let finish = RedisScript(
        common + """
            if ARGV[2] ~= '' and not owns(KEYS[1], ARGV[1], ARGV[2], ARGV[3]) then return 'lost' end
            local letter = tonumber(ARGV[6])
            for i = 7 + letter, #ARGV, 9 do
              if ARGV[i + 8] == '1' and redis.call('HGET', KEYS[3], 't' .. ARGV[i] .. ':walk') ~= 'done' and
                redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)[1] then return 'moved' end
            end
            if redis.call('XACK', KEYS[1], ARGV[1], ARGV[3]) == 0 then return 'gone' end
            redis.call('DEL', KEYS[4])
            if letter > 0 then redis.call('XADD', KEYS[5], '*', unpack(ARGV, 7, 6 + letter)) end
            if KEYS[1] ~= KEYS[2] then redis.call('XDEL', KEYS[1], ARGV[3]) end
            local ended = {}
            local names = {'sent', 'removed', 'errored', 'expired'}
            for i = 7 + letter, #ARGV, 9 do
              local target = 't' .. ARGV[i] .. ':'
              if redis.call('HEXISTS', KEYS[3], target .. 'parts') == 1 then
                if ARGV[i + 1] ~= '' then
                  redis.call('HSET', KEYS[3], target .. 'expected', ARGV[i + 1], target .. 'excluded', ARGV[i + 2])
                end
                for j, name in ipairs(names) do
                  local count = tonumber(ARGV[i + 2 + j])
                  if count > 0 then redis.call('HINCRBY', KEYS[3], target .. name, count) end
                end
                if ARGV[i + 7] ~= '0' then
                  redis.call('HINCRBY', KEYS[3], target .. 'retries', -1)
                  redis.call('HINCRBY', KEYS[3], target .. 'waiting', '-' .. ARGV[i + 7])
                end
                if redis.call('HINCRBY', KEYS[3], target .. 'parts', -1) == 0 then
                  local counts = redis.call('HMGET', KEYS[3], target .. 'expected', target .. 'excluded',
                    target .. 'sent', target .. 'removed', target .. 'errored', target .. 'expired')
                  ended[#ended + 1] = {ARGV[i], unpack(counts)}
                end
              end
            end
            local left = 0
            if redis.call('EXISTS', KEYS[3]) == 1 then
              left = redis.call('HINCRBY', KEYS[3], 'parts', -1)
              redis.call('PEXPIRE', KEYS[3], ARGV[5])
              if KEYS[1] == KEYS[2] then
                for _, field in ipairs(redis.call('HKEYS', KEYS[3])) do
                  local number = string.match(field, '^t(%d+):walk$')
                  if number then redis.call('UNLINK', KEYS[6] .. number) end
                end
              end
            end
            if left <= 0 then
              redis.call('XDEL', KEYS[2], ARGV[4])
              redis.call('DEL', KEYS[3])
            end
            return {left, ended}
            """
    )
}
