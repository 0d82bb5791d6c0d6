-- ARGV: group, me, ids in one string. Renews the leases of what is still held; answers the ids that are not.
local mine, ids, lost = held(), {}, {}
local function renew()
  if #ids == 0 then return end
  ids[#ids + 1] = 'IDLE'
  ids[#ids + 1] = 0
  ids[#ids + 1] = 'JUSTID'
  redis.call('XCLAIM', stream, group, me, 0, unpack(ids))
  ids = {}
end
for id in string.gmatch(ARGV[3], '%S+') do
  if mine[id] then ids[#ids + 1] = id else lost[#lost + 1] = id end
  -- Lua passes no more than about 8,000 values to a command.
  if #ids == 1000 then renew() end
end
renew()
return lost
