-- Gives the token's lease a TTL, unless more is left than that.
-- KEYS  lock, owners
-- ARGV  token, TTL (ms)
-- Reply 1 done; 0 the lease is gone; -1 the lock is another's
if redis.replicate_commands then pcall(redis.replicate_commands) end
local token, ttl = ARGV[1], tonumber(ARGV[2])
local rec = redis.pcall('GET', KEYS[1])
if not rec then return 0 end
if type(rec) ~= 'string' then return -1 end
local state, holder = string.match(rec, '^hf1 (%a+)=(%S+) ')
if state ~= 'token' then
  if holder == token then return 0 end
  return -1
end
if string.match(rec, ' owner=(%S+) ') == '-' then
  if holder ~= token then return -1 end
  if redis.call('PTTL', KEYS[1]) < ttl then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
  return 1
end
local expiry = redis.pcall('ZSCORE', KEYS[2], token)
if type(expiry) == 'table' then return -1 end
if not expiry then return -1 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if tonumber(expiry) <= now then return 0 end
for _, key in ipairs(KEYS) do
  if redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ARGV[2]) end
end
redis.call('ZADD', KEYS[2], string.format('%.0f', math.max(tonumber(expiry), now + ttl)), token)
return 1
