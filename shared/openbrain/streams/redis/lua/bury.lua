-- KEYS[3]: the dead letters. ARGV: group, me, id, 1 if this was a failed attempt else 0, error, message, fields.
-- Moves the entry to the dead letters; answers 1, or 0 if it is no longer held.
local id = ARGV[3]
if #redis.call('XPENDING', stream, group, id, id, 1, me) == 0 then return 0 end
local failures, abandonments, first = state(id)
local last = now()
if first == 0 then first = last end
local fields = {}
for i = 7, #ARGV do fields[#fields + 1] = ARGV[i] end
local function add(name, value)
  fields[#fields + 1] = name
  fields[#fields + 1] = value
end
add('stream', stream)
add('group', group)
add('entry', id)
add('error', ARGV[5])
add('message', ARGV[6])
add('attempts', failures + ARGV[4])
add('abandonments', abandonments)
add('first_at', string.format('%.0f', first))
add('last_at', string.format('%.0f', last))
-- First: a server without memory refuses a script whose first change needs some, and what waits behind this entry
-- could not be read.
redis.call('HDEL', states, id)
redis.call('XADD', KEYS[3], '*', unpack(fields))
redis.call('XACK', stream, group, id)
return 1
