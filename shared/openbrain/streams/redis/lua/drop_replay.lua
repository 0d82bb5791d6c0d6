-- KEYS: the replay of a group, its counts. ARGV: group. Removes it once all is settled; answers how many are not.
local waiting = left(KEYS[1], ARGV[1])
if waiting == 0 then redis.call('DEL', KEYS[1], KEYS[2]) end
return waiting or 0
