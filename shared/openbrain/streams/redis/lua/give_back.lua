-- ARGV: group, me, parked, ripe (ms), ids in one string. Gives back what is still held of these, due at once and
-- uncounted; answers how many that was.
local parked, mine, count = ARGV[3], held(), 0
for id in string.gmatch(ARGV[5], '%S+') do
  if mine[id] then
    redis.call('XCLAIM', stream, group, parked, 0, id, 'IDLE', ARGV[4], 'JUSTID')
    count = count + 1
  end
end
return count
