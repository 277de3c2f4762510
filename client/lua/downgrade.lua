-- Makes the token's exclusive lease of each lock a shared one, and lets readers in.
-- KEYS  the locks'
-- ARGV  token
-- Reply 1 done; 0 the lease is gone; -1 the lock is another's: the worst of all
local token = ARGV[1]

local function downgrade(k)
  local h = holders(k)
  if not h then return 0 end
  if not holds(k, h, token) then return -1 end
  if h.mode ~= 'x' then return 1 end
  local rec = string.gsub(h.rec, ' mode=x ', ' mode=s ')
  redis.call('DEL', k.members, k.info)
  redis.call('ZADD', k.members, int(now + h.left), token)
  redis.call('HSET', k.info, token, rec)
  redis.call('SET', k.lock, rec, 'PX', int(h.left))
  keep(k)
  pcall(advance, k, holders(k), 'h')
  return 1
end

for i = 1, #KEYS, 6 do
  local h = holders(keys(i))
  if h and h.mode == 'x' and h.group and h.count > 1 and holds(keys(i), h, token) then
    return redis.error_reply('INVALID other leases of the owner hold the lock exclusively')
  end
end
local result = 1
for i = 1, #KEYS, 6 do result = math.min(result, downgrade(keys(i))) end
tell()
return result
