-- Gives the token's lease of each lock a TTL, unless more is left than that.
-- KEYS  the locks'
-- ARGV  token, TTL (ms)
-- Reply 1 done; 0 the lease is gone; -1 the lock is another's: the worst of all
local token, ttl = ARGV[1], tonumber(ARGV[2])

local function extend(k)
  local h = holders(k)
  if holds(k, h, token) then
    rearm(k, h, token, ttl)
    return 1
  end
  if not h or h.state == 'resting' and h.token == token or h.group and h.mode ~= 'x' then return 0 end
  return -1
end

local result = 1
for i = 1, #KEYS, 6 do result = math.min(result, extend(keys(i))) end
return result
