import Redis

/// What ingest does in Redis, each in one step; all state is in one hash, `P{queue}:ingest`.
///
/// | field | what |
/// | --- | --- |
/// | `mark` | the number of the newest mark |
/// | `<stretch>:<group>` | how many of the stretch's messages are written |
/// | `floor` | stretches up to this number are forgotten, unless they have a field |
/// | `groups` | the groups that have been here: hashes of their patterns |
/// | `lease:<group>` | when the lease ends (unix ms), who holds it, the group's patterns |
///
/// Replicas with the same patterns are a group: they hear the same, so they share names, counts and a lease. A mark's
/// number is the server's clock in milliseconds, or one more than the last.
enum IngestScripts {
    /// Publishes a mark and answers with it.
    ///
    /// KEYS: the hash. ARGV: suffix, control channel.
    static let join = RedisScript(
        """
        local time = redis.call('TIME')
        local last = tonumber(redis.call('HGET', KEYS[1], 'mark') or 0)
        local mark = string.format('%.0f', math.max(last + 1, time[1] * 1000 + math.floor(time[2] / 1000)))
        redis.call('HSET', KEYS[1], 'mark', mark)
        mark = mark .. '-' .. ARGV[1]
        redis.call('PUBLISH', ARGV[2], mark)
        return mark
        """
    )

    /// Adds the message to the inbox unless it is there, or the one before it is not.
    ///
    /// KEYS: the hash, the inbox. ARGV: field of the stretch, number of the push message before, number, channel,
    /// message, unix milliseconds of receipt, id. Answers with the stretch's count: at least the number when the
    /// message is there; -1 when the stretch is forgotten. With an empty field the message is added as new.
    static let write = RedisScript(
        """
        local field, number = ARGV[1], tonumber(ARGV[3])
        if field == '' then
            redis.call('XADD', KEYS[2], '*', 'channel', ARGV[4], 'message', ARGV[5], 'received', ARGV[6])
            return 0
        end
        local count = redis.call('HGET', KEYS[1], field)
        if count then
            count = tonumber(count)
        else
            local floor = redis.call('HGET', KEYS[1], 'floor')
            if floor and tonumber(string.match(field, '^%d+')) <= tonumber(floor) then return -1 end
            count = 0
        end
        if count >= number or count < tonumber(ARGV[2]) then return count end
        redis.call('XADD', KEYS[2], '*', 'channel', ARGV[4], 'message', ARGV[5], 'received', ARGV[6], 'id', ARGV[7])
        redis.call('HSET', KEYS[1], field, number)
        return number
        """
    )

    /// Takes or keeps the lease, or gives it up, with a mark.
    ///
    /// KEYS: the hash. ARGV: name, `able` or `free`, suffix, group, control channel, patterns, how long a lease lasts
    /// (ms), fields of stretches. Answers: whose the lease is (0 nobody's, 1 mine, 2 another's), the newest mark's
    /// number, the mark just published or nothing, the patterns of other groups that are at work, then the count of
    /// each stretch, -1 if it is forgotten.
    ///
    /// When memory is full marks are published all the same, and what must be stored for them is left out.
    static let beat = RedisScript(
        """
        local key, me, group, channel, lasts = KEYS[1], ARGV[1], ARGV[4], ARGV[5], tonumber(ARGV[7])
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local known = redis.call('HMGET', key, 'mark', 'floor', 'groups', 'lease:' .. group)
        local mark, floor, groups = tonumber(known[1] or 0), tonumber(known[2] or 0), known[3] or ''

        local function parsed(lease)
            local ends, holder, patterns = string.match(lease or '', '^(%d+) (%S+) (.*)$')
            ends = tonumber(ends or 0)
            if ends > now and ends <= now + lasts then return holder, patterns end
        end

        local refusal
        local function store(field, value)
            local answer = redis.pcall('HSET', key, field, value)
            if type(answer) == 'table' and answer.err and not string.find(answer.err, 'OOM', 1, true) then
                refusal = answer
            end
            return type(answer) ~= 'table' or not answer.err
        end

        local published = ''
        local function publish(word)
            mark = math.max(mark + 1, now)
            store('mark', string.format('%.0f', mark))
            published = string.format('%.0f', mark) .. '-' .. ARGV[3]
            if not refusal then redis.call('PUBLISH', channel, published .. word) end
        end

        local holder = parsed(known[4])
        if ARGV[2] == 'able' then
            if holder and holder ~= me and redis.call('PUBSUB', 'NUMSUB', channel)[2] <= 1 then
                holder = nil -- Who holds it does not listen any more.
            end
            if not holder or holder == me then
                holder = me
                store('lease:' .. group, string.format('%.0f', now + lasts) .. ' ' .. me .. ' ' .. ARGV[6])
                publish('')
            end
        elseif holder == me then
            holder = nil
            redis.call('HDEL', key, 'lease:' .. group)
            publish(' free')
        end

        if not string.find(' ' .. groups .. ' ', ' ' .. group .. ' ', 1, true) then
            store('groups', groups .. ' ' .. group)
        end
        local foreign = {}
        for other in string.gmatch(groups, '%S+') do
            if other ~= group then
                local at_work, patterns = parsed(redis.call('HGET', key, 'lease:' .. other))
                if at_work then foreign[#foreign + 1] = patterns end
            end
        end

        if holder == me and redis.call('HLEN', key) > 700 then
            local stretches = {}
            for _, field in ipairs(redis.call('HKEYS', key)) do
                local number = string.match(field, '^(%d+)%-')
                if number then stretches[#stretches + 1] = { tonumber(number), field } end
            end
            table.sort(stretches, function(a, b) return a[1] < b[1] end)
            local last = stretches[#stretches - 400]
            if last and last[1] > floor and store('floor', string.format('%.0f', last[1])) then floor = last[1] end
            for _, stretch in ipairs(stretches) do
                if stretch[1] <= floor then redis.call('HDEL', key, stretch[2]) end
            end
        end
        if refusal then return refusal end

        local answer = { not holder and 0 or holder == me and 1 or 2, mark, published, foreign }
        if #ARGV > 7 then
            for index, count in ipairs(redis.call('HMGET', key, unpack(ARGV, 8))) do
                local number = tonumber(string.match(ARGV[7 + index], '^%d+'))
                answer[4 + index] = count and tonumber(count) or number <= floor and -1 or 0
            end
        end
        return answer
        """
    )
}
