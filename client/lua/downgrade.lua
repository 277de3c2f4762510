-- Makes the token's exclusive lease a shared one, and lets readers in.
-- KEYS  the lock's
-- ARGV  token
-- Reply 1 done; 0 the lease is gone; -1 the lock is another's
local k, token = keys(1), ARGV[1]
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
tell()
return 1
