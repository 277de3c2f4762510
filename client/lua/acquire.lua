-- Takes the lock for a token, or tells who holds it and lets the token queue.
-- Idempotent per token: one that holds the lock already keeps its fence and gets
-- its TTL again; one that waits already keeps its place.
-- KEYS  the lock's; tombstone of the token
-- ARGV  token, TTL (ms), holder, traceparent, highest fence the client saw, owner,
--       minimum hold (ms), mode (x, s, n<slots>), flags (b barges, q queues);
--       for one that queues: id for the message, channel, ticket (0 for a new one)
-- Reply {1, fence} granted; {0, ms left, record, place in the queue, ticket, last
--       fence} held; {-1} the token is withdrawn
local k, token, ttl, flags = keys(1), ARGV[1], tonumber(ARGV[2]), ARGV[9]
local w = {token = token, holder = ARGV[3], trace = ARGV[4], seen = tonumber(ARGV[5]), owner = ARGV[6],
  min = tonumber(ARGV[7]), mode = ARGV[8]}
if not lastFence(k) then return redis.error_reply('FOREIGN the fence key holds a value that is not a fence') end
redis.call('ZCARD', k.members) -- fails, before anything is written, where the key is no set
local waiting = redis.call('ZCARD', k.queue) > 0
if redis.call('EXISTS', KEYS[7]) == 1 then return {-1} end
local h = holders(k)
if h and h.state == 'foreign' and h.left < 0 then
  return h.err or redis.error_reply('FOREIGN the key holds a value that is not a lock')
end
if h and h.state == 'resting' and h.token == token then return {-1} end
if holds(k, h, token) then return {1, get(rearm(k, h, token, ttl), 'fence')} end

if h and h.group and h.mode ~= w.mode then
  local has, wants = string.match(h.mode, '^n(%d+)'), string.match(w.mode, '^n(%d+)')
  if has and wants then
    return redis.error_reply('INVALID the lock is held with ' .. has .. ' slots, not ' .. wants)
  end
  if h.mode == 's' and w.mode == 'x' and kin(k, h, w.owner) then
    return redis.error_reply('UPGRADE the owner holds the lock shared')
  end
end
local over = string.find(flags, 'b') or kin(k, h, w.owner)
if waiting and not (over and admits(h, w)) then
  h = advance(k, h, 'e')
  if holds(k, h, token) then
    local fence = get(rearm(k, h, token, ttl), 'fence')
    tell()
    return {1, fence}
  end
  waiting = redis.call('ZCARD', k.queue) > 0 -- whoever is left in front waits rightly
end
if admits(h, w) and (over or not waiting) then
  if waiting then drop(k, token) end
  local fence = grant(k, h, w, 'token', ttl)
  tell()
  return {1, fence}
end

local left = h.left
if h.group and h.mode == w.mode and h.count > 0 then -- it waits for one slot
  left = tonumber(redis.call('ZRANGE', k.members, 0, 0, 'WITHSCORES')[2]) - now
end
if not string.find(flags, 'q') then
  tell()
  return {0, left, h.rec, 0, 0, 0}
end
local ticket = redis.call('ZSCORE', k.queue, token)
if not ticket then
  ticket = ARGV[12]
  if ticket == '0' then
    local last = redis.call('ZREVRANGE', k.queue, 0, 0, 'WITHSCORES')
    ticket = int(math.max(micros, tonumber(last[2] or '0') + 1))
  end
  redis.call('ZADD', k.queue, ticket, token)
end
redis.call('HSET', k.waiters, token, int(now + BEAT) .. ' ' .. w.mode .. ' ' .. w.owner .. ' ' .. int(w.min) .. ' '
  .. int(w.seen) .. ' ' .. ARGV[10] .. ' ' .. w.holder .. ' ' .. w.trace .. ' ' .. ARGV[11])
redis.call('PEXPIRE', k.queue, QUEUE_LIFE)
redis.call('PEXPIRE', k.waiters, QUEUE_LIFE)
tell()
return {0, left, h.rec, redis.call('ZRANK', k.queue, token) + 1, int(tonumber(ticket)), int(lastFence(k))}
