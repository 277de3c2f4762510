-- Tells who holds the lock. Writes nothing.
-- KEYS  lock, owners
-- Reply {record or false, PTTL}; the PTTL is that of the owner's latest lease
local rec = redis.call('GET', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if rec and string.match(rec, '^hf1 token=%S+ ') and string.match(rec, ' owner=(%S+) ') ~= '-' then
  local latest = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')
  if latest[2] then
    local time = redis.call('TIME')
    left = tonumber(latest[2]) - (time[1] * 1000 + math.floor(time[2] / 1000))
    if left <= 0 then return {false, -2} end
  end
end
return {rec, left}
