-- Gives the token's lease a TTL, unless more is left than that.
-- KEYS  the lock's
-- ARGV  token, TTL (ms)
-- Reply 1 done; 0 the lease is gone; -1 the lock is another's
local k, token = keys(1), ARGV[1]
local h = holders(k)
if holds(k, h, token) then
  rearm(k, h, token, tonumber(ARGV[2]))
  return 1
end
if not h or h.state == 'resting' and h.token == token or h.group and h.mode ~= 'x' then return 0 end
return -1
