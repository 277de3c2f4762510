-- Tells who holds the lock and how many wait. Writes nothing.
-- KEYS  the lock's
-- Reply {waiting, left (ms), record, left, record, ...}; of an owner's leases the latest
local k = keys(1)
local reply = {redis.call('ZCARD', k.queue)}
local rec = redis.call('GET', k.lock)
if not rec then return reply end
local function add(left, text)
  reply[#reply + 1] = left
  reply[#reply + 1] = text
end
local mode = get(rec, 'mode')
local group = string.match(rec, '^hf1 %a+=%S+ ') and not string.match(rec, '^hf1 resting')
  and (mode ~= 'x' or get(rec, 'owner') ~= '-')
local members = group and redis.call('ZREVRANGE', k.members, 0, -1, 'WITHSCORES') or {}
if #members == 0 then
  add(redis.call('PTTL', k.lock), rec)
  return reply
end
for i = 1, #members, 2 do
  local left = tonumber(members[i + 1]) - now
  if left <= 0 or mode == 'x' and i > 1 then break end
  add(left, mode == 'x' and rec or redis.call('HGET', k.info, members[i]) or rec)
end
return reply
