-- KEYS: a stream, the replay of a group, its counts. ARGV: group, from, to, how many at once, how many may lie there.
-- Copies entries in one step, so that nothing erased meanwhile comes back. Answers how many were copied, the id of the
-- last, how many now lie there, and 1 if there is more.
local source, replay, states = KEYS[1], KEYS[2], KEYS[3]
local group, from, to = ARGV[1], ARGV[2], ARGV[3]
ready(replay, states, group)
local waiting, read = left(replay, group)
-- What was read and settled makes room: the oldest that is still in hand stays, and what comes after it.
local oldest = redis.call('XPENDING', replay, group)[2]
redis.call('XTRIM', replay, 'MINID', oldest or read)
local count = math.min(tonumber(ARGV[4]), tonumber(ARGV[5]) - waiting)
if count <= 0 then return {0, false, waiting, 1} end
local entries = redis.call('XRANGE', source, from, to, 'COUNT', count)
for _, entry in ipairs(entries) do redis.call('XADD', replay, '*', unpack(narrow(entry[2]))) end
local last = entries[#entries]
return {#entries, last and last[1] or false, waiting + #entries, #entries < count and 0 or 1}
