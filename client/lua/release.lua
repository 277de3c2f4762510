-- Ends the token's lease. The lock is free when it was the last one of its
-- owner, or rests until its minimum hold has passed.
-- KEYS  lock, owners, tombstone of the token
-- ARGV  token, minimum hold (ms), life of the tombstone (ms; 0 leaves none)
-- Reply 1 released; 2 resting; 0 the lease was gone; -1 the lock is another's
-- Of the leases of one owner the longest minimum hold counts.
-- The first write is a ZREM or a DEL: those pass while the server is out of memory.
if redis.replicate_commands then pcall(redis.replicate_commands) end
local token, minimum, withdrawn = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function free(rec)
  local since = tonumber(string.match(rec, ' since=(%d+) '))
  local rest = math.min(minimum, minimum - (now - since))
  redis.call('DEL', KEYS[1])
  if rest <= 0 then return 1 end
  rec = string.gsub(rec, '^hf1 token=%S+', function() return 'hf1 resting=' .. token end)
  redis.call('SET', KEYS[1], rec, 'PX', string.format('%.0f', rest))
  return 2
end

local function release()
  local rec = redis.pcall('GET', KEYS[1])
  if not rec then return 0 end
  if type(rec) ~= 'string' then return -1 end
  local state, holder = string.match(rec, '^hf1 (%a+)=(%S+) ')
  if state ~= 'token' then
    if holder == token then return 2 end
    return -1
  end
  if string.match(rec, ' owner=(%S+) ') == '-' then
    if holder ~= token then return -1 end
    return free(rec)
  end
  local expiry = redis.pcall('ZSCORE', KEYS[2], token)
  if not expiry or type(expiry) == 'table' then return -1 end
  redis.call('ZREM', KEYS[2], token)
  local result = 1
  if tonumber(expiry) <= now then result = 0 end
  if redis.call('ZCOUNT', KEYS[2], '(' .. string.format('%.0f', now), '+inf') == 0 then
    redis.call('DEL', KEYS[2])
    minimum = math.max(minimum, tonumber(string.match(rec, ' min=(%d+) ')))
    local freed = free(rec)
    if result == 1 then result = freed end
  end
  return result
end

local result = release()
if withdrawn > 0 then
  redis.call('DEL', KEYS[3])
  redis.call('SET', KEYS[3], '1', 'PX', withdrawn)
end
return result
