-- Ends the token's lease, and its wait. The lock goes to those who wait when it was
-- the last one of a group, or rests until its minimum hold has passed.
-- KEYS  the lock's; tombstone of the token
-- ARGV  token, minimum hold (ms), life of the tombstone (ms; 0 leaves none)
-- Reply 1 released; 2 resting; 0 the lease was gone; -1 the lock is another's
-- Of the leases of one owner the longest minimum hold counts.
-- The first write is a ZREM or a DEL: those pass while the server is out of memory.
local k, token, minimum, withdrawn = keys(1), ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local function free(rec)
  local since = tonumber(get(rec, 'since'))
  local rest = math.min(minimum, minimum - (now - since))
  redis.call('DEL', k.lock)
  if rest <= 0 then return 1 end
  rec = string.gsub(rec, '^hf1 %a+=%S+', function() return 'hf1 resting=' .. token end)
  redis.call('SET', k.lock, rec, 'PX', int(rest))
  return 2
end

local function release(h)
  if not h then return 0 end
  if h.state == 'foreign' then return -1 end
  if h.state == 'resting' then return h.token == token and 2 or -1 end
  if not holds(k, h, token) then return h.group and h.mode ~= 'x' and 0 or -1 end
  if not h.group then return free(h.rec) end
  redis.call('ZREM', k.members, token)
  redis.call('HDEL', k.info, token)
  if h.count == 1 then
    redis.call('DEL', k.members, k.info)
    minimum = math.max(minimum, tonumber(get(h.rec, 'min')))
    return free(h.rec)
  end
  if h.mode ~= 'x' and h.token == token then
    local other = redis.call('ZREVRANGE', k.members, 0, 0)[1]
    redis.call('SET', k.lock, redis.call('HGET', k.info, other) or h.rec, 'PX', 1)
  end
  keep(k)
  return 1
end

local result = release(holders(k))
-- What is wrong with the queue is for those who wait to learn, not for a release.
pcall(function()
  if redis.call('ZCARD', k.queue) > 0 then
    drop(k, token)
    advance(k, holders(k), 'h')
  end
end)
if withdrawn > 0 then
  redis.call('DEL', KEYS[7])
  redis.call('SET', KEYS[7], '1', 'PX', withdrawn)
end
tell()
return result
