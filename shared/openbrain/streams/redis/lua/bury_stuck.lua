-- KEYS: stream, counts, dead letters. ARGV: group, id, error, message. Takes an entry from whoever has it in hand, or
-- from where it is parked. Answers 1; 0 where nobody has it; 2 where it is in hand but was trimmed: then it is gone.
local stream, states, dead = KEYS[1], KEYS[2], KEYS[3]
local group, id = ARGV[1], ARGV[2]
if #redis.call('XPENDING', stream, group, id, id, 1) == 0 then return 0 end
local text = redis.call('HGET', states, id) or '0 0 0 '
local failures, abandonments, first = string.match(text, '^(%d+) (%d+) (%d+) ')
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local entry = redis.call('XRANGE', stream, id, id)[1]
redis.call('HDEL', states, id)  -- first, as in bury.lua
if entry then
  local fields = {}
  local ours = ' stream group entry error message attempts abandonments first_at last_at '
  if #entry[2] > 1000 then
    fields = {'entry.fields', cjson.encode(entry[2])}
  else
    for i = 1, #entry[2], 2 do
      local name = entry[2][i]
      if string.find(ours, ' ' .. name .. ' ', 1, true) then name = 'entry.' .. name end
      fields[#fields + 1] = name
      fields[#fields + 1] = entry[2][i + 1]
    end
  end
  local about = {'stream', stream, 'group', group, 'entry', id, 'error', ARGV[3], 'message', ARGV[4],
    'attempts', failures, 'abandonments', abandonments, 'first_at', first == '0' and now or first, 'last_at', now}
  for _, part in ipairs(about) do fields[#fields + 1] = part end
  redis.call('XADD', dead, '*', unpack(fields))
end
redis.call('XACK', stream, group, id)
return entry and 1 or 2
