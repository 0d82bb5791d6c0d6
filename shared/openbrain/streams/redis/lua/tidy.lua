-- ARGV: group, me, parked, idle (ms). Removes consumers that hold nothing and are long gone: removing one that holds
-- something would lose it.
local removed = 0
for _, flat in ipairs(redis.call('XINFO', 'CONSUMERS', stream, group)) do
  local consumer = {}
  for i = 1, #flat, 2 do consumer[flat[i]] = flat[i + 1] end
  local gone = consumer.pending == 0 and consumer.idle > tonumber(ARGV[4])
  if gone and consumer.name ~= me and consumer.name ~= ARGV[3] then
    redis.call('XGROUP', 'DELCONSUMER', stream, group, consumer.name)
    removed = removed + 1
  end
end
return removed
