-- The beat of waiters, of any number of locks: keeps their places, hands a lock
-- over whose holder's time has passed, and tells each how it stands.
-- KEYS  the locks', one after another
-- ARGV  for each lock: token, fence of the holder that the waiter knows
-- Reply for each lock: {1} the token holds it; {2} it is not in the queue, or may
--       enter: it has to ask; {0, ms left, place, last fence, record, unless known}
local function poll(k, token, known)
  local entry = redis.call('HGET', k.waiters, token)
  if entry then
    redis.call('ZREM', k.queue, '') -- a first write that passes while the server is out of memory
    redis.call('HSET', k.waiters, token, (string.gsub(entry, '^%d+', int(now + BEAT))))
    redis.call('PEXPIRE', k.queue, QUEUE_LIFE)
    redis.call('PEXPIRE', k.waiters, QUEUE_LIFE)
  end
  local h = advance(k, holders(k), 'e')
  if holds(k, h, token) then return {1} end
  local rank = entry and redis.call('ZRANK', k.queue, token)
  if not rank or not h then return {2} end
  local w = waiter(token, entry)
  if kin(k, h, w.owner) then return {2} end
  local left, rec = timeLeft(k, h, w), h.rec
  if h.state ~= 'foreign' and get(rec, 'fence') == known then rec = false end
  return {0, left, rank + 1, int(lastFence(k) or 0), rec}
end

local replies = {}
for i = 1, #ARGV / 2 do
  local ok, reply = pcall(poll, keys(6 * i - 5), ARGV[2 * i - 1], ARGV[2 * i])
  replies[i] = ok and reply or {2}
end
tell()
return replies
