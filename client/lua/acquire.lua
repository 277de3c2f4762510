-- Takes the lock for a token, or tells who holds it. Idempotent per token: a
-- token that holds the lock already keeps its fence and gets its TTL again.
-- KEYS  lock, fence, tombstone of the token, owners
-- ARGV  token, TTL (ms), holder, traceparent, highest fence the client saw, owner,
--       minimum hold (ms)
-- Reply {1, fence} granted; {0, PTTL, record} held; {-1} the token is withdrawn
if redis.replicate_commands then pcall(redis.replicate_commands) end
local function number(n) return string.format('%.0f', n) end
local token, ttl, owner, minimum = ARGV[1], tonumber(ARGV[2]), ARGV[6], tonumber(ARGV[7])
local rec = redis.call('GET', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
local last = redis.call('GET', KEYS[2])
local previous = tonumber(last or '0')
if not (previous and previous >= 0 and previous < 9007199254740000) then
  return redis.error_reply('FOREIGN the fence key holds a value that is not a fence')
end
redis.call('ZCARD', KEYS[4]) -- fails, before anything is written, where the key is no set
if redis.call('EXISTS', KEYS[3]) == 1 then return {-1} end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stale = false

if rec then
  local state, holder = string.match(rec, '^hf1 (%a+)=(%S+) ')
  if not state then
    if left < 0 then return redis.error_reply('FOREIGN the key holds a value that is not a lock') end
    return {0, left, rec}
  end
  if state ~= 'token' then
    if holder == token then return {-1} end
    return {0, left, rec}
  end
  local fence, held = string.match(rec, ' fence=(%d+) '), string.match(rec, ' owner=(%S+) ')
  if held == '-' then
    if holder ~= token then return {0, left, rec} end
    if left < ttl then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
    return {1, fence}
  end
  local latest = redis.call('ZREVRANGE', KEYS[4], 0, 0, 'WITHSCORES')
  local live = latest[2] and tonumber(latest[2]) > now
  if live and held == owner then
    redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', number(now))
    local mine = tonumber(redis.call('ZSCORE', KEYS[4], token) or '0')
    redis.call('ZADD', KEYS[4], number(math.max(mine, now + ttl)), token)
    if redis.call('PTTL', KEYS[4]) < ttl then redis.call('PEXPIRE', KEYS[4], ARGV[2]) end
    if tonumber(string.match(rec, ' min=(%d+) ')) < minimum then
      rec = string.gsub(rec, ' min=%d+ ', ' min=' .. ARGV[7] .. ' ')
      redis.call('SET', KEYS[1], rec, 'PX', number(math.max(left, ttl)))
    elseif left < ttl then
      redis.call('PEXPIRE', KEYS[1], ARGV[2])
    end
    return {1, fence}
  end
  if live then return {0, tonumber(latest[2]) - now, rec} end
  if not latest[2] then return {0, left, rec} end
  stale = true
end

local fence = number(math.max(previous + 1, time[1] * 1000000 + time[2], tonumber(ARGV[5]) + 1))
if stale then redis.call('DEL', KEYS[4]) end
if owner ~= '-' then
  redis.call('ZADD', KEYS[4], number(now + ttl), token)
  redis.call('PEXPIRE', KEYS[4], ARGV[2])
end
redis.call('SET', KEYS[2], fence, 'PX', 86400000)
redis.call('SET', KEYS[1], 'hf1 token=' .. token .. ' fence=' .. fence .. ' since=' .. number(now)
  .. ' holder=' .. ARGV[3] .. ' owner=' .. owner .. ' min=' .. ARGV[7] .. ' trace=' .. ARGV[4], 'PX', ARGV[2])
return {1, fence}
