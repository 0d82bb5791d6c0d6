-- ARGV: group, me, ids in one string. Acknowledges what is still held; answers how many that was.
local mine, ids = held(), {}
for id in string.gmatch(ARGV[3], '%S+') do
  if mine[id] then ids[#ids + 1] = id end
end
if #ids == 0 then return 0 end
redis.call('HDEL', states, unpack(ids))
return redis.call('XACK', stream, group, unpack(ids))
