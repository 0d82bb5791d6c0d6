-- ARGV: group. Makes the group at the stream's beginning, with what is left of an earlier group's counts removed.
-- Answers 1 if it was made, 0 if it stood.
local made = redis.pcall('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
if made.err then
  if string.find(made.err, 'BUSYGROUP', 1, true) then return 0 end
  return made
end
redis.call('DEL', states)
return 1
