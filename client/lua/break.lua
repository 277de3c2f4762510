-- Takes the lock from whoever holds it.
-- KEYS  lock, owners
-- Reply how many keys went
local rec = redis.call('GET', KEYS[1])
if rec and not string.match(rec, '^hf1 %a+=%S+ ') and redis.call('PTTL', KEYS[1]) < 0 then
  return redis.error_reply('FOREIGN the key holds a value that is not a lock')
end
return redis.call('DEL', KEYS[1], KEYS[2])
