-- KEYS: stream, another name. ARGV: the most entries that are copied, then ids to delete. Writes the stream anew, with
-- its ids, groups, consumers and pending entries: what was deleted lies on in the blocks of the old one, and in every
-- file made of it. Both in one step: a sweep that is killed in between would find nothing to delete the next time.
-- Answers the entries copied, or -1 where there are too many.
local stream, copy = KEYS[1], KEYS[2]
if redis.call('EXISTS', stream) == 0 then return 0 end
for i = 2, #ARGV do redis.call('XDEL', stream, ARGV[i]) end
if redis.call('XLEN', stream) > tonumber(ARGV[1]) then return -1 end
local function table_of(list)
  local made = {}
  for i = 1, #list, 2 do made[list[i]] = list[i + 1] end
  return made
end
local about = table_of(redis.call('XINFO', 'STREAM', stream))
redis.call('DEL', copy)
-- Nothing can be asked for behind the highest id.
local LAST = '18446744073709551615-18446744073709551615'
local copied, from = 0, '-'
while true do
  local entries = redis.call('XRANGE', stream, from, '+', 'COUNT', 500)
  if #entries == 0 then break end
  for _, entry in ipairs(entries) do
    redis.call('XADD', copy, entry[1], unpack(narrow(entry[2])))
    copied = copied + 1
  end
  if entries[#entries][1] == LAST then break end
  from = '(' .. entries[#entries][1]
end
local groups = redis.call('XINFO', 'GROUPS', stream)
for _, each in ipairs(groups) do
  local group = table_of(each)
  local read = group['entries-read']
  local create = {'XGROUP', 'CREATE', copy, group['name'], group['last-delivered-id'], 'MKSTREAM'}
  if read then
    create[#create + 1] = 'ENTRIESREAD'
    create[#create + 1] = read
  end
  redis.call(unpack(create))
  for _, one in ipairs(redis.call('XINFO', 'CONSUMERS', stream, group['name'])) do
    redis.call('XGROUP', 'CREATECONSUMER', copy, group['name'], table_of(one)['name'])
  end
  local pending = redis.call('XPENDING', stream, group['name'], '-', '+', 1000000)
  for _, one in ipairs(pending) do
    redis.call('XCLAIM', copy, group['name'], one[2], 0, one[1],
      'IDLE', one[3], 'RETRYCOUNT', one[4], 'FORCE', 'JUSTID')
  end
end
if redis.call('EXISTS', copy) == 1 then
  local added, deleted = about['entries-added'], about['max-deleted-entry-id']
  if added then
    redis.call('XSETID', copy, about['last-generated-id'], 'ENTRIESADDED', added, 'MAXDELETEDID', deleted)
  else
    redis.call('XSETID', copy, about['last-generated-id'])
  end
  redis.call('RENAME', copy, stream)
else
  redis.call('DEL', stream)
end
return copied
