-- KEYS[1]: a stream. ARGV: from, to, the most that are counted at once. Answers how many, and the id of the last.
local entries = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[2], 'COUNT', ARGV[3])
local last = entries[#entries]
return {#entries, last and last[1] or false}
