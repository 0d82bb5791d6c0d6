-- ARGV: group, me, ids. Acknowledges what is still held; answers how many that was.
local mine, ids = held(), {}
for i = 3, #ARGV do
  if mine[ARGV[i]] then ids[#ids + 1] = ARGV[i] end
end
if #ids == 0 then return 0 end
redis.call('HDEL', states, unpack(ids))
return redis.call('XACK', stream, group, unpack(ids))
