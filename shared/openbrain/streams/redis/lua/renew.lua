-- ARGV: group, me, ids in one string. Renews the leases of what is still held; answers the ids that are not.
local mine, ids, lost = held(), {}, {}
for id in string.gmatch(ARGV[3], '%S+') do
  if mine[id] then ids[#ids + 1] = id else lost[#lost + 1] = id end
end
if #ids > 0 then
  ids[#ids + 1] = 'IDLE'
  ids[#ids + 1] = 0
  ids[#ids + 1] = 'JUSTID'
  redis.call('XCLAIM', stream, group, me, 0, unpack(ids))
end
return lost
