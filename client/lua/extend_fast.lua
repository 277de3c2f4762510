-- The usual case, without all that follows: one lock, held by this lease alone.
if #KEYS == 6 then
  local rec = redis.pcall('GET', KEYS[1])
  if type(rec) == 'string' and string.find(rec, 'hf1 token=' .. ARGV[1] .. ' ', 1, true) == 1
    and string.find(rec, ' owner=- mode=x ', 1, true) then
    if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
    return 1
  end
end
