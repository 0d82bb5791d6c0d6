-- ARGV: group, me, parked, ripe (ms). Gives back all that is held, due at once and uncounted, and leaves the group.
local parked, count = ARGV[3], 0
for id in pairs(held()) do
  redis.call('XCLAIM', stream, group, parked, 0, id, 'IDLE', ARGV[4], 'JUSTID')
  count = count + 1
end
if next(held()) == nil then redis.call('XGROUP', 'DELCONSUMER', stream, group, me) end
return count
