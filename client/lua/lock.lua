-- What the scripts share: they are this text with their own behind it.
--
-- KEYS of one lock, six in a row: lock (the holder record), fence, members, info,
-- queue, waiters. A lone exclusive holder is in the record alone. Where several may
-- hold together (leases of one owner, shared, slots) members has the expiry of each
-- token and info, but for one owner, its record; the lock's key then has the record
-- of one of them, and the TTL of the latest. queue has the tickets of those who wait
-- and waiters what a hand-off has to know of them.
if redis.replicate_commands then pcall(redis.replicate_commands) end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local micros = time[1] * 1000000 + time[2]

local RESERVATION = 3000  -- ms: the first TTL of a lease that was handed over
local BEAT = 3000         -- ms: after it a waiter that did not poll is taken for dead
local QUEUE_LIFE = 10000  -- ms: of the queue's keys
local FENCE_LIFE = 86400000
local MAX_FENCE = 9007199254740000
local BLOCK = 32          -- fences that a lone exclusive grant reserves, for the leases that follow it in its process

local function int(n) return string.format('%.0f', n) end

local function keys(i)
  return {lock = KEYS[i], fence = KEYS[i + 1], members = KEYS[i + 2], info = KEYS[i + 3],
    queue = KEYS[i + 4], waiters = KEYS[i + 5]}
end

local function get(rec, name) return string.match(rec, ' ' .. name .. '=(%S+)') end

-- The last fence; nil where the key has something else.
local function lastFence(k)
  local n = tonumber(redis.call('GET', k.fence) or '0')
  if n and n >= 0 and n < MAX_FENCE then return n end
end

-- Those who hold the lock, nil where nobody does. Members whose time has passed
-- are taken out.
local function holders(k)
  local rec = redis.pcall('GET', k.lock)
  if not rec then return nil end
  if type(rec) == 'table' then return {state = 'foreign', left = -1, err = rec} end
  local h = {rec = rec, left = redis.call('PTTL', k.lock)}
  h.state, h.token = string.match(rec, '^hf1 (%a+)=(%S+) ')
  if not h.state then
    h.state = 'foreign'
    return h
  end
  h.mode, h.owner = get(rec, 'mode'), get(rec, 'owner')
  h.group = h.state ~= 'resting' and (h.mode ~= 'x' or h.owner ~= '-')
  if not h.group then return h end
  h.count = redis.call('ZCARD', k.members)
  if h.count == 0 then return h end -- evicted: the record alone says that it is held
  for _, token in ipairs(redis.call('ZRANGEBYSCORE', k.members, '-inf', int(now))) do
    redis.call('ZREM', k.members, token)
    redis.call('HDEL', k.info, token)
    h.count = h.count - 1
  end
  if h.count > 0 then return h end
  redis.call('DEL', k.lock, k.members, k.info)
end

local function holds(k, h, token)
  if not h or h.state == 'foreign' or h.state == 'resting' then return false end
  if not h.group then return h.token == token end
  return redis.call('ZSCORE', k.members, token) and true
end

-- Whether w may hold the lock beside h.
local function admits(h, w)
  if not h then return true end
  if not h.group or h.count == 0 or h.mode ~= w.mode then return false end
  if h.mode == 'x' then return h.owner == w.owner end
  return h.mode == 's' or h.count < tonumber(string.sub(h.mode, 2))
end

-- How long w waits at most until h makes way: one of them for a slot, else all.
local function timeLeft(k, h, w)
  if h.mode ~= w.mode or string.sub(h.mode, 1, 1) ~= 'n' or h.count == 0 then return h.left end
  return tonumber(redis.call('ZRANGE', k.members, 0, 0, 'WITHSCORES')[2]) - now
end

-- Whether one of those who hold the lock is of that owner.
local function kin(k, h, owner)
  if owner == '-' or not h or not h.group then return false end
  if h.mode == 'x' then return h.owner == owner end
  for _, rec in ipairs(redis.call('HVALS', k.info)) do
    if get(rec, 'owner') == owner then return true end
  end
  return false
end

-- Gives the keys of a group the TTL of its latest member.
local function keep(k)
  local latest = redis.call('ZREVRANGE', k.members, 0, 0, 'WITHSCORES')
  local left = int(math.max(1, tonumber(latest[2]) - now))
  redis.call('PEXPIRE', k.lock, left)
  redis.call('PEXPIRE', k.members, left)
  redis.call('PEXPIRE', k.info, left)
end

-- Grants w the lock beside h, for ttl, and returns the fence.
local function grant(k, h, w, state, ttl)
  if h and h.mode == 'x' then -- one owner's: the record and its fence stay
    redis.call('ZADD', k.members, int(now + ttl), w.token)
    if tonumber(get(h.rec, 'min')) < w.min then
      redis.call('SET', k.lock, (string.gsub(h.rec, ' min=%d+ ', ' min=' .. int(w.min) .. ' ')), 'PX', int(ttl))
    end
    keep(k)
    return get(h.rec, 'fence')
  end
  local fence = int(math.max((lastFence(k) or 0) + 1, micros, w.seen + 1))
  local rec = 'hf1 ' .. state .. '=' .. w.token .. ' fence=' .. fence .. ' since=' .. int(now) .. ' holder=' .. w.holder
    .. ' owner=' .. w.owner .. ' mode=' .. w.mode .. ' min=' .. int(w.min) .. ' trace=' .. w.trace
  local alone = w.mode == 'x' and w.owner == '-'
  redis.call('SET', k.fence, alone and int(tonumber(fence) + BLOCK - 1) or fence, 'PX', FENCE_LIFE)
  if alone then
    redis.call('SET', k.lock, rec, 'PX', int(ttl))
    return fence
  end
  if not h then redis.call('DEL', k.members, k.info) end
  redis.call('ZADD', k.members, int(now + ttl), w.token)
  if w.mode ~= 'x' then redis.call('HSET', k.info, w.token, rec) end
  redis.call('SET', k.lock, rec, 'PX', int(ttl))
  keep(k)
  return fence
end

-- Gives a lease of h ttl from now, unless more is left, and returns its record.
-- What a hand-off only reserved becomes the lease's own. With confirm, of an acquire
-- whose lease begins only now, it then has ttl for its TTL, even if that is less.
local function rearm(k, h, token, ttl, confirm)
  local rec = h.rec
  if h.group and h.mode ~= 'x' then rec = redis.call('HGET', k.info, token) or rec end
  local mine, reserved = string.gsub(rec, '^hf1 reserved=(%S+)', 'hf1 token=%1')
  if reserved > 0 and string.match(mine, '^hf1 token=(%S+)') ~= token then reserved = 0 end
  if not h.group then
    if reserved > 0 then
      if not confirm then ttl = math.max(ttl, h.left) end
      redis.call('DEL', k.lock) -- a first write that passes while the server is out of memory
      redis.call('SET', k.lock, mine, 'PX', int(ttl))
    elseif h.left < ttl then
      redis.call('PEXPIRE', k.lock, int(ttl))
    end
    return rec
  end
  local expiry = now + ttl
  if reserved == 0 or not confirm then expiry = math.max(expiry, tonumber(redis.call('ZSCORE', k.members, token))) end
  redis.call('ZREM', k.members, token) -- passes while the server is out of memory
  redis.call('ZADD', k.members, int(expiry), token)
  if reserved > 0 then
    if h.mode ~= 'x' then redis.call('HSET', k.info, token, mine) end
    if h.token == token then redis.call('SET', k.lock, mine, 'PX', int(ttl)) end
  end
  keep(k)
  return rec
end

-- Takes a waiter out of the queue.
local function drop(k, token)
  redis.call('ZREM', k.queue, token)
  redis.call('HDEL', k.waiters, token)
end

-- A waiter's entry: beat mode owner min seen id holder trace channel
local function waiter(token, entry)
  local w = {token = token}
  w.beat, w.mode, w.owner, w.min, w.seen, w.id, w.holder, w.trace, w.channel =
    string.match(entry, '^(%d+) (%S+) (%S+) (%d+) (%d+) (%S+) (%S+) (%S+) (.*)$')
  w.beat, w.min, w.seen = tonumber(w.beat), tonumber(w.min), tonumber(w.seen)
  return w
end

-- Ends the token's lease, of those that h are. 1 released; 2 resting; 0 it was gone;
-- -1 the lock is another's.
local function leave(k, h, token, minimum)
  local function free(rec)
    local since = tonumber(get(rec, 'since'))
    local rest = math.min(minimum, minimum - (now - since))
    redis.call('DEL', k.lock)
    if rest <= 0 then return 1 end
    rec = string.gsub(rec, '^hf1 %a+=%S+', function() return 'hf1 resting=' .. token end)
    redis.call('SET', k.lock, rec, 'PX', int(rest))
    return 2
  end
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

local messages = {}

-- Hands the lock to those who wait, first come first, as far as h admits them, and
-- returns who holds it then. Waiters that missed their beat are dropped. how tells
-- the waiter what gave the lock free: h a holder, e that one's expiry.
local function advance(k, h, how)
  while true do
    local head = redis.call('ZRANGE', k.queue, 0, 0)[1]
    if not head then return h end
    local entry = redis.call('HGET', k.waiters, head)
    local w = entry and waiter(head, entry)
    if not w or not w.beat or w.beat <= now then
      drop(k, head)
    elseif admits(h, w) then
      drop(k, head)
      local fence = grant(k, h, w, 'reserved', RESERVATION)
      messages[#messages + 1] = {w.channel, w.id .. ' ' .. fence .. ' ' .. how}
      h = holders(k)
    else
      return h
    end
  end
end

-- Ends the token's lease and its wait, and hands the lock on. What is wrong with the
-- queue is for those who wait to learn, not for a release.
local function release(k, token, minimum)
  local result = leave(k, holders(k), token, minimum)
  pcall(function()
    if redis.call('ZCARD', k.queue) > 0 then
      drop(k, token)
      advance(k, holders(k), 'h')
    end
  end)
  return result
end

-- Sends the messages of the hand-offs: last, and refused without harm.
local function tell()
  for _, m in ipairs(messages) do redis.pcall('PUBLISH', m[1], m[2]) end
end
