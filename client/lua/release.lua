-- Ends the token's lease of each lock, and its wait. The lock goes to those who wait
-- when it was the last one of a group, or rests until its minimum hold has passed.
-- KEYS  of each lock: its own six, and the tombstone of the token
-- ARGV  token, minimum hold (ms), life of the tombstone (ms; 0 leaves none)
-- Reply 1 released; 2 resting; 0 the lease was gone; -1 the lock is another's: the
--       worst of all. Of the leases of one owner the longest minimum hold counts.
-- The first write is a ZREM or a DEL: those pass while the server is out of memory.
local token, minimum, withdrawn = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local result = 2
for i = 1, #KEYS, 7 do
  result = math.min(result, release(keys(i), token, minimum))
  if withdrawn > 0 then
    redis.call('DEL', KEYS[i + 6])
    redis.call('SET', KEYS[i + 6], '1', 'PX', withdrawn)
  end
end
tell()
return result
