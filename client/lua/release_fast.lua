-- The usual case, without all that follows: one lock, held by this lease alone, for
-- which nobody waits, without a minimum hold or a tombstone.
if #KEYS == 7 and ARGV[2] == '0' and ARGV[3] == '0' then
  local rec = redis.pcall('GET', KEYS[1])
  if type(rec) == 'string' and string.find(rec, 'hf1 token=' .. ARGV[1] .. ' ', 1, true) == 1
    and string.find(rec, ' owner=- mode=x ', 1, true) and redis.call('EXISTS', KEYS[5]) == 0 then
    return redis.call('DEL', KEYS[1])
  end
end
