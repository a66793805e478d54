import Redis

/// The scripts by which workers keep their entries and take over those of dead workers.
///
/// The group's list of pending entries keeps, for each, its consumer, how long it was not touched, and how often it was
/// given (Redis: XPENDING). KEYS[1] is the stream, ARGV[1] the group, ARGV[2] the asking consumer.
enum TakeoverScripts {
    /// Deletes consumers that have no pending entries and have asked for none in so long.
    ///
    /// ARGV[3]: milliseconds. In a script, since a consumer is deleted with its entries.
    static let forgetConsumers = RedisScript(
        """
        local forgotten = 0
        for _, fields in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
          local consumer = {}
          for i = 1, #fields, 2 do consumer[fields[i]] = fields[i + 1] end
          if consumer.pending == 0 and consumer.idle > tonumber(ARGV[3]) and consumer.name ~= ARGV[2] then
            redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
            forgotten = forgotten + 1
          end
        end
        return forgotten
        """
    )

    /// Touches entries that the consumer still owns, and answers those that it does not own any more.
    ///
    /// ARGV[3]: the idle time that they get, 0 for a sign of life; ARGV[4]: the number of deliveries that they get, or
    /// nothing to keep it; then the entries.
    static let touch = RedisScript(
        """
        local lost = {}
        local claim = {'XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0}
        local head = #claim
        for i = 5, #ARGV do
          local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)
          if pending[1] and pending[1][2] == ARGV[2] then claim[#claim + 1] = ARGV[i]
          else lost[#lost + 1] = ARGV[i] end
        end
        if #claim > head then
          claim[#claim + 1] = 'IDLE'
          claim[#claim + 1] = ARGV[3]
          if ARGV[4] ~= '' then
            claim[#claim + 1] = 'RETRYCOUNT'
            claim[#claim + 1] = ARGV[4]
          end
          claim[#claim + 1] = 'JUSTID'
          redis.call(unpack(claim))
        end
        return lost
        """
    )

    /// Takes over entries that nobody has touched for ARGV[3] milliseconds, ARGV[4] at most.
    ///
    /// Of those that were given twice or more often, and so may have killed their workers, at most ARGV[5]. The number
    /// of deliveries stays as it is: whoever takes an entry counts it when it looks at it. Answers entry and number of
    /// deliveries before this one, for each.
    static let claim = RedisScript(
        """
        local claimed = {}
        local suspects = tonumber(ARGV[5])
        local first = '-'
        for page = 1, 20 do
          local idle = redis.call('XPENDING', KEYS[1], ARGV[1], 'IDLE', ARGV[3], first, '+', 1000)
          for _, pending in ipairs(idle) do
            if #claimed >= tonumber(ARGV[4]) then break end
            local isSuspect = pending[4] >= 2
            if not isSuspect or suspects > 0 then
              local entry = redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], pending[1], 'RETRYCOUNT',
                pending[4])[1]
              if entry then
                claimed[#claimed + 1] = {entry, pending[4]}
                if isSuspect then suspects = suspects - 1 end
              end
            end
          end
          if #idle < 1000 or #claimed >= tonumber(ARGV[4]) then break end
          first = '(' .. idle[#idle][1]
        end
        return claimed
        """
    )
}
