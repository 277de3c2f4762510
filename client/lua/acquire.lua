-- Takes a lock, or several, for a token, or tells who holds it and lets the token
-- queue. Idempotent per token: one that holds the lock already keeps its fence and
-- gets its TTL again; one that waits already keeps its place.
-- KEYS  of each lock: its own six, and the tombstone of the token
-- ARGV  token, TTL (ms), holder, traceparent, highest fence the client saw, owner,
--       minimum hold (ms), mode (x, s, n<slots>), flags (b barges, q queues);
--       for one that queues: id for the message, channel, ticket (0 for a new one)
-- Reply {1, fence} granted; {0, ms left, record, place in the queue, ticket, last
--       fence, which lock} held; {-1} the token is withdrawn
-- Of several locks one that does not queue takes all or none. One that queues takes
-- them in order up to the first that it has to wait for, and has none behind that:
-- all who do so in the same order cannot wait for each other in a circle.
local token, ttl, flags = ARGV[1], tonumber(ARGV[2]), ARGV[9]
local w = {token = token, holder = ARGV[3], trace = ARGV[4], seen = tonumber(ARGV[5]), owner = ARGV[6],
  min = tonumber(ARGV[7]), mode = ARGV[8]}
local queues, barges = string.find(flags, 'q'), string.find(flags, 'b')

-- What keeps the token from k: nothing, or a reply that ends the run.
local function check(k)
  if not lastFence(k) then return redis.error_reply('FOREIGN the fence key holds a value that is not a fence') end
  redis.call('ZCARD', k.members) -- fails, before anything is written, where the key is no set
  k.waiting = redis.call('ZCARD', k.queue) > 0
  if redis.call('EXISTS', k.tombstone) == 1 then return {-1} end
  local h = holders(k)
  k.h = h
  if not h then return nil end
  if h.state == 'foreign' and h.left < 0 then
    return h.err or redis.error_reply('FOREIGN the key holds a value that is not a lock')
  end
  if h.state == 'resting' and h.token == token then return {-1} end
  if not h.group or h.mode == w.mode or holds(k, h, token) then return nil end
  local has, wants = string.match(h.mode, '^n(%d+)'), string.match(w.mode, '^n(%d+)')
  if has and wants then return redis.error_reply('INVALID the lock is held with ' .. has .. ' slots, not ' .. wants) end
  if kin(k, h, w.owner) then
    return redis.error_reply(h.mode == 's' and 'UPGRADE the owner holds the lock shared'
      or 'DOWNGRADE the owner holds the lock exclusively')
  end
end

-- Whether the token holds k, or may take it.
local function may(k)
  if holds(k, k.h, token) then return true end
  k.over = barges or kin(k, k.h, w.owner)
  if k.waiting and not (k.over and admits(k.h, w)) then
    k.h = advance(k, k.h, 'e')
    if holds(k, k.h, token) then return true end
    -- Whoever is left in front waits rightly.
    local ticket = redis.call('ZSCORE', k.queue, token) or queues and ARGV[12] ~= '0' and ARGV[12]
    k.waiting = redis.call('ZCOUNT', k.queue, '-inf', ticket and '(' .. ticket or '+inf') > 0
  end
  return admits(k.h, w) and (k.over or not k.waiting)
end

local function take(k)
  if holds(k, k.h, token) then return get(rearm(k, k.h, token, ttl, true), 'fence') end
  if k.waiting then drop(k, token) end
  return grant(k, k.h, w, 'token', ttl)
end

local function refuse(k, i)
  local h, left = k.h, timeLeft(k, k.h, w)
  if not queues then return {0, left, h.rec, 0, '0', '0', i} end
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
  return {0, left, h.rec, redis.call('ZRANK', k.queue, token) + 1, int(tonumber(ticket)), int(lastFence(k)), i}
end

local locks, highest = {}, w.seen
for i = 1, #KEYS / 7 do
  local k = keys(7 * i - 6)
  k.tombstone = KEYS[7 * i]
  local reply = check(k)
  if reply then return reply end
  locks[i], highest = k, math.max(highest, lastFence(k))
end
w.seen = highest
if not queues then
  for i, k in ipairs(locks) do
    if not may(k) then
      local reply = refuse(k, i)
      tell()
      return reply
    end
  end
end
local fence = 0
for i, k in ipairs(locks) do
  if queues and not may(k) then
    local reply = refuse(k, i)
    for j = i + 1, #locks do
      release(locks[j], token, 0)
    end
    tell()
    return reply
  end
  fence = math.max(fence, tonumber(take(k)))
end
if #locks > 1 then -- the next holder of any of them gets a higher one than this
  for _, k in ipairs(locks) do redis.call('SET', k.fence, int(math.max(fence, lastFence(k))), 'PX', FENCE_LIFE) end
end
tell()
return {1, int(fence)}
