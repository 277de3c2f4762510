-- The usual case, without all that follows: one lock, to be held by one lease alone,
-- that nobody has and nobody waits for.
if #KEYS == 7 and ARGV[6] == '-' and ARGV[8] == 'x' and redis.call('EXISTS', KEYS[1], KEYS[5], KEYS[7]) == 0 then
  local last = tonumber(redis.call('GET', KEYS[2]) or '0')
  if last and last >= 0 and last < 9007199254740000 then
    if redis.replicate_commands then pcall(redis.replicate_commands) end
    local time = redis.call('TIME')
    local n = math.max(last + 1, tonumber(ARGV[5]) + 1, time[1] * 1000000 + time[2])
    local fence = string.format('%.0f', n)
    redis.call('SET', KEYS[2], string.format('%.0f', n + 31), 'PX', 86400000)
    redis.call('SET', KEYS[1], 'hf1 token=' .. ARGV[1] .. ' fence=' .. fence
      .. ' since=' .. string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
      .. ' holder=' .. ARGV[3] .. ' owner=- mode=x min=' .. ARGV[7] .. ' trace=' .. ARGV[4], 'PX', ARGV[2])
    return {1, fence}
  end
end
