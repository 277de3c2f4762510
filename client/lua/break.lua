-- Takes the lock from whoever holds it, and hands it to those who wait.
-- KEYS  the lock's
-- Reply how many keys went
local k = keys(1)
local rec = redis.call('GET', k.lock)
if rec and not string.match(rec, '^hf1 %a+=%S+ ') and redis.call('PTTL', k.lock) < 0 then
  return redis.error_reply('FOREIGN the key holds a value that is not a lock')
end
local n = redis.call('DEL', k.lock, k.members, k.info)
pcall(advance, k, nil, 'h')
tell()
return n
